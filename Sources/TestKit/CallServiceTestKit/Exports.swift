// SPDX-License-Identifier: Apache-2.0

// A test reads diagnostics, the screen and the history: their types come along.
@_exported import CallServiceCore
