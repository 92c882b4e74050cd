// SPDX-License-Identifier: Apache-2.0

import Essentials
import Networking
import SIPAgent
import Testing

@Suite struct DatagramSocketTests {
    @Test(arguments: [loopbackV4, loopbackV6]) func `datagrams go both ways, in order, with their arrival time`(
        local: SocketAddress
    ) throws {
        try withLoop { loop in
            let received = Inbox<(bytes: [UInt8], from: SocketAddress, time: MonotonicTime)>()
            let before = loop.now
            let sender = loop.sync {
                guard let one = try? DatagramSocket(loop: loop, local: local),
                    let two = try? DatagramSocket(loop: loop, local: local)
                else { return loopbackV4 }
                two.onReceive = { bytes, from, _ in two.send(Array((0..<bytes.count).map { bytes[$0] }), to: from) }
                one.onReceive = { bytes, from, time in
                    received.put(((0..<bytes.count).map { bytes[$0] }, from, time))
                }
                for index in 0..<100 { one.send([UInt8(index), 7], to: two.local) }
                return two.local
            }
            for index in 0..<100 {
                let packet = try #require(received.take())
                #expect(packet.bytes == [UInt8(index), 7])
                #expect(packet.from == sender)
                #expect(packet.time >= before && packet.time <= loop.now)
            }
        }
    }

    @Test func `the largest datagram arrives whole`() throws {
        try withLoop { loop in
            let size = Inbox<Int>()
            loop.execute {
                guard let one = try? DatagramSocket(loop: loop, local: loopbackV4),
                    let two = try? DatagramSocket(loop: loop, local: loopbackV4)
                else { return size.put(-1) }
                two.onReceive = { bytes, _, _ in size.put(bytes.count) }
                one.send([UInt8](repeating: 1, count: 65_507), to: two.local)
            }
            #expect(size.take() == 65_507)
        }
    }

    @Test(arguments: [loopbackV4, loopbackV6]) func `a port where nobody listens is told with its address`(
        local: SocketAddress
    ) throws {
        try withLoop { loop in
            let failed = Inbox<(SocketAddress, FlowFailure)>()
            let gone = loop.sync {
                guard let socket = try? DatagramSocket(loop: loop, local: local),
                    let other = try? DatagramSocket(loop: loop, local: local)
                else { return local }
                let gone = other.local
                other.close()
                socket.onSendFailed = { failed.put(($0, $1)) }
                socket.send([1, 2, 3], to: gone)
                return gone
            }
            let (address, failure) = try #require(failed.take())
            #expect(address == gone)
            #expect(failure == .refused)
        }
    }

    @Test func `what cannot be sent is told: the other family, and what is too long`() throws {
        try withLoop { loop in
            let failed = Inbox<FlowFailure>()
            loop.execute {
                guard let socket = try? DatagramSocket(loop: loop, local: loopbackV4) else { return }
                socket.onSendFailed = { failed.put($1) }
                socket.send([1], to: SocketAddress(.loopbackV6, 9))
                socket.send([UInt8](repeating: 0, count: 70_000), to: SocketAddress(.loopbackV4, 9))
            }
            #expect(failed.take() == .unreachable)
            guard case .other = try #require(failed.take()) else {
                Issue.record("too long was not told")
                return
            }
        }
    }

    @Test func `a port in use is a clear error`() throws {
        try withLoop { loop in
            let errors = loop.sync { () -> [NetworkError] in
                var errors: [NetworkError] = []
                do throws(NetworkError) {
                    let first = try DatagramSocket(loop: loop, local: loopbackV4)
                    _ = try DatagramSocket(loop: loop, local: first.local)
                } catch { errors.append(error) }
                do throws(NetworkError) {
                    let first = try StreamListener(loop: loop, local: loopbackV4)
                    _ = try StreamListener(loop: loop, local: first.local)
                } catch { errors.append(error) }
                return errors
            }
            #expect(errors.map(\.code) == [.addressInUse, .addressInUse])
            #expect(errors.allSatisfy { $0.reason.contains("in use") && $0.reason.contains("127.0.0.1:") })
        }
    }

    @Test func `an address that is not ours is a clear error`() throws {
        try withLoop { loop in
            let code = loop.sync { () -> NetworkError.Code? in
                do throws(NetworkError) {
                    _ = try DatagramSocket(loop: loop, local: SocketAddress(.v4(0xc000_0201), 0))
                    return nil
                } catch { return error.code }
            }
            #expect(code == .addressNotAvailable)
        }
    }

    @Test func `the way to loopback starts at loopback`() {
        #expect(localAddress(toward: SocketAddress(.loopbackV4, 5060)) == .loopbackV4)
        #expect(!primaryAddress(like: .anyV4).isUnspecified)
    }
}

@Suite struct StreamTests {
    @Test(arguments: [loopbackV4, loopbackV6]) func `a connection carries octets both ways and ends in good order`(
        local: SocketAddress
    ) throws {
        try withLoop { loop in
            let log = Inbox<String>()
            let echoed = Inbox<[UInt8]>()
            loop.execute {
                do throws(NetworkError) {
                    let listener = try StreamListener(loop: loop, local: local)
                    listener.onAccept = { connection in
                        connection.onReceive = { connection.send($0) }
                        connection.onClosed = { log.put("server \($0)") }
                    }
                    let client = try StreamConnection(loop: loop, to: listener.local)
                    client.onConnected = { log.put("connected") }
                    client.onReceive = { bytes in
                        echoed.put(bytes)
                        client.close()
                    }
                    client.onClosed = { log.put("client \($0)") }
                    client.send(Array("before it is up".utf8))
                } catch { log.put("\(error)") }
            }
            #expect(log.take() == "connected")
            #expect(echoed.take() == Array("before it is up".utf8))
            #expect(log.take() == "client closedLocally")
            #expect(log.take() == "server closedByPeer")
        }
    }

    @Test func `many octets arrive whole although the queue is written in parts`() throws {
        try withLoop { loop in
            let total = 900_000
            let done = Inbox<Bool>()
            loop.execute {
                do throws(NetworkError) {
                    let listener = try StreamListener(loop: loop, local: loopbackV4)
                    listener.onAccept = { connection in
                        var next: UInt8 = 0
                        var count = 0
                        var isRight = true
                        connection.onReceive = { bytes in
                            for byte in bytes {
                                isRight = isRight && byte == next
                                next = next == 250 ? 0 : next + 1
                            }
                            count += bytes.count
                            if count == total { done.put(isRight) }
                        }
                    }
                    let client = try StreamConnection(loop: loop, to: listener.local)
                    client.send((0..<total).map { UInt8($0 % 251) })
                } catch { done.put(false) }
            }
            #expect(done.take() == true)
        }
    }

    @Test func `a peer that does not read is cut off at the limit`() throws {
        try withLoop { loop in
            let closed = Inbox<FlowFailure>()
            loop.execute {
                do throws(NetworkError) {
                    let listener = try StreamListener(loop: loop, local: loopbackV4)
                    var options = StreamOptions()
                    options.queueLimit = 100_000
                    let client = try StreamConnection(loop: loop, to: listener.local, options: options)
                    client.onClosed = { closed.put($0) }
                    client.send([UInt8](repeating: 0, count: 60_000))
                    client.send([UInt8](repeating: 0, count: 60_000))
                } catch { closed.put(.other("\(error)")) }
            }
            #expect(closed.take() == .limit)
        }
    }

    @Test func `nobody listens: refused`() throws {
        try withLoop { loop in
            let closed = Inbox<FlowFailure>()
            loop.execute {
                do throws(NetworkError) {
                    let listener = try StreamListener(loop: loop, local: loopbackV4)
                    let gone = listener.local
                    listener.close()
                    let client = try StreamConnection(loop: loop, to: gone)
                    client.onClosed = { closed.put($0) }
                } catch { closed.put(FlowFailure.refused) }
            }
            #expect(closed.take() == .refused)
        }
    }
}
