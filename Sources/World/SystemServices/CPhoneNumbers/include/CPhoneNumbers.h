// SPDX-License-Identifier: Apache-2.0
#ifndef HANDSET_C_PHONE_NUMBERS_H
#define HANDSET_C_PHONE_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The number in international form (country code, then national number, as one integer), or 0 where `text` is none.
/// `region`: two letters (ISO 3166), of the country whose national numbers are understood; empty: none.
int64_t handset_phone_number(const char *text, size_t length, const char *region);

/// Whether libphonenumber knows that region.
int handset_phone_region(const char *region);

#ifdef __cplusplus
}
#endif
#endif
