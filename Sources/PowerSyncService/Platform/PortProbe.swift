import Foundation
package import NIOCore

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Tries whether a process could listen on a port.
///
/// It takes the port for a moment and never listens: a listener would accept connections that get no answer.
package enum PortProbe {
    /// Takes a port as the service does, and gives it back.
    ///
    /// - Parameters:
    ///   - host: An address, or a name of this machine.
    ///   - port: The port; 0 for any free one.
    /// - Throws: What the system says: `EADDRINUSE` for a port that another process listens on, `EADDRNOTAVAIL` for a host that is not
    ///   this machine.
    package static func take(_ host: String, _ port: Int) throws(IOError) {
        let address: SocketAddress
        do {
            address = try SocketAddress.makeAddressResolvingHost(host, port: port)
        } catch {
            throw IOError(errnoCode: EADDRNOTAVAIL, reason: "the name of the host cannot be resolved")
        }
        #if canImport(Darwin) || canImport(Musl)
        let stream = SOCK_STREAM
        #else
        let stream = CInt(SOCK_STREAM.rawValue)
        #endif
        let family: CInt
        switch address.protocol {
        case .inet6: family = AF_INET6
        default: family = AF_INET
        }
        let handle = socket(family, stream, 0)
        guard handle >= 0 else { throw IOError(errnoCode: errno, reason: "socket") }
        defer { close(handle) }
        // As the listener does: connections that have ended do not hold the port.
        var isOn: CInt = 1
        guard unsafe setsockopt(handle, SOL_SOCKET, SO_REUSEADDR, &isOn, socklen_t(MemoryLayout<CInt>.size)) == 0 else {
            throw IOError(errnoCode: errno, reason: "setsockopt")
        }
        guard unsafe address.withSockAddr({ unsafe bind(handle, $0, socklen_t($1)) }) == 0 else {
            throw IOError(errnoCode: errno, reason: "bind")
        }
    }
}
