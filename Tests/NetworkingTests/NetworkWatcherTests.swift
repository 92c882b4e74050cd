// SPDX-License-Identifier: Apache-2.0

import Essentials
import Networking
import SIPAgent
import Testing

@Suite struct NetworkWatcherTests {
    @Test func theAddressesOfThisMachineAreThoseThatOthersReach() {
        let state = NetworkState.current()
        #expect(state.addresses.allSatisfy { !$0.ip.isLoopback && !$0.ip.isUnspecified && !$0.interface.isEmpty })
        #expect(state.addresses.allSatisfy { (1...($0.ip.isV6 ? 128 : 32)).contains($0.prefixLength) })
        #expect(Set(state.addresses.map(\.ip)).count == state.addresses.count)
        #expect(primaryAddress(like: .anyV4) == state.preferred(isV6: false) ?? .loopbackV4)
    }

    @Test func theSystemsNewsAreOpenWhileSomebodyWantsThem() throws {
        let loop = try EventLoop.manual()
        // The watcher belongs to the loop, so it is used in a turn of it.
        loop.execute {
            let first = loop.networkWatcher.subscribe { _ in }
            let second = loop.networkWatcher.subscribe { _ in }
            #expect(first != nil && second != nil && first != second)
            for token in [first, second] { if let token { loop.networkWatcher.unsubscribe(token) } }
            let again = loop.networkWatcher.subscribe { _ in }
            #expect(again != nil && again != first)
            if let again { loop.networkWatcher.unsubscribe(again) }
        }
        loop.run(for: .milliseconds(10))
    }
}
