// SPDX-License-Identifier: Apache-2.0

import CPosix
import Essentials
import SIPAgent

extension SocketAddress {
    init(_ address: cposix_address) {
        let ip: IPAddress = address.family == 4 ? .v4(UInt32(truncatingIfNeeded: address.low)) : .v6(address.high, address.low)
        self.init(ip, address.port)
    }

    var system: cposix_address {
        switch ip {
        case .v4(let bits): cposix_address(high: 0, low: UInt64(bits), port: port, family: 4)
        case .v6(let high, let low): cposix_address(high: high, low: low, port: port, family: 6)
        }
    }

    /// 4 or 6, as the C target wants it.
    var family: Int32 { ip.isV6 ? 6 : 4 }
}

/// The address of this machine from which packets to `remote` leave; nil if there is no way there. Nothing is sent.
///
/// For a socket that is bound to every address this is what Via, Contact and SDP may name.
public func localAddress(toward remote: SocketAddress) -> IPAddress? {
    let fd = cposix_socket(remote.family, 1)
    guard fd >= 0 else { return nil }
    defer { cposix_close(fd) }
    var to = remote.system
    if to.port == 0 { to.port = 9 }
    var own = cposix_address()
    guard unsafe cposix_connect(fd, &to) == 0, unsafe cposix_local_address(fd, &own) == 0 else { return nil }
    let ip = SocketAddress(own).ip
    return ip.isUnspecified ? nil : ip
}

/// The address under which this machine is reached by others, of the family of `wildcard`: that of the default route,
/// else the first that there is, else loopback.
public func primaryAddress(like wildcard: IPAddress) -> IPAddress {
    NetworkState.current().preferred(isV6: wildcard.isV6) ?? (wildcard.isV6 ? .loopbackV6 : .loopbackV4)
}
