// SPDX-License-Identifier: Apache-2.0
// The one function of libFuzzer that a program with its own main calls.
#pragma once
#include <stddef.h>
#include <stdint.h>
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*callback)(const uint8_t *data, size_t size));
