// SPDX-License-Identifier: Apache-2.0
import SDP
import Testing
@Test func smoke() throws { _ = try SessionDescription(parsing: Array("v=0\r\n".utf8)) }
