// SPDX-License-Identifier: Apache-2.0

import Testing

/// Handset against other people's programs, each started by the test on loopback. One test at a time: the machines that
/// run this have two cores, and audio is real time.
@Suite(.serialized) enum Interop {}
