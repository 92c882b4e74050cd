// SPDX-License-Identifier: Apache-2.0

import Essentials
import SIPAgent
import Testing

/// From which address a packet leaves, as far as the agent knows.
@Suite struct NetworkStateTests {
    private func ip(_ text: String) -> IPAddress { IPAddress(text) ?? .anyV4 }

    @Test func theNetworkOfTheOtherSideDecidesThenTheDefaultRoute() {
        let state = NetworkState([
            LocalAddress(ip("10.0.0.5"), prefixLength: 8), LocalAddress(ip("10.1.2.5"), prefixLength: 24),
            LocalAddress(ip("192.0.2.5"), prefixLength: 24, isDefault: true), LocalAddress(ip("2001:db8:1::5"), prefixLength: 64),
            LocalAddress(ip("2001:db8:2::5"), prefixLength: 120, isDefault: true),
        ])
        #expect(state.address(toward: ip("10.1.2.77")) == ip("10.1.2.5"))
        #expect(state.address(toward: ip("10.9.9.9")) == ip("10.0.0.5"))
        #expect(state.address(toward: ip("198.51.100.1")) == ip("192.0.2.5"))
        #expect(state.address(toward: ip("::ffff:10.1.2.77")) == ip("10.1.2.5"))
        #expect(state.address(toward: ip("127.0.0.1")) == .loopbackV4)
        #expect(state.address(toward: ip("::1")) == .loopbackV6)
        #expect(state.address(toward: ip("2001:db8:1::99")) == ip("2001:db8:1::5"))
        #expect(state.address(toward: ip("2001:db8:2::ff")) == ip("2001:db8:2::5"))
        #expect(state.address(toward: ip("2001:db8:9::1")) == ip("2001:db8:2::5"))
        #expect(state.preferred(isV6: false) == ip("192.0.2.5"))
    }

    @Test func withoutADefaultRouteTheFirstAddressIsTheBestGuess() {
        let state = NetworkState([LocalAddress(ip("10.77.1.2"), prefixLength: 24)])
        #expect(state.address(toward: ip("10.77.0.1")) == ip("10.77.1.2"))
        #expect(state.address(toward: ip("2001:db8::1")) == nil)
    }

    @Test func withoutAnyAddressOnlyThisMachineIsReached() {
        let state = NetworkState([])
        #expect(state.isEmpty)
        #expect(state.address(toward: ip("192.0.2.1")) == nil)
        #expect(state.address(toward: ip("127.0.0.2")) == .loopbackV4)
    }

    @Test func prefixLengthsFromOutsideStayInTheirBounds() {
        for length in [-5, 0, 31, 32, 33, 128, 200] {
            let v4 = NetworkState([LocalAddress(ip("192.0.2.1"), prefixLength: length)])
            #expect(v4.address(toward: ip("192.0.2.1")) == ip("192.0.2.1"))
            let v6 = NetworkState([LocalAddress(ip("2001:db8::1"), prefixLength: length)])
            #expect(v6.address(toward: ip("2001:db8::1")) == ip("2001:db8::1"))
        }
    }
}
