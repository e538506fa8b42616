import Foundation
import NIOCore
import PowerSyncSQLite

/// A Unix socket in the file system, which only the user of the process can connect to.
///
/// ```
/// bind ─► nothing was there ──────────────► chmod 0600 ─► the caller listens ─► isOurs? ─► remove
///  │                                          ▲
///  └─► a socket: does anyone answer? ─ no ─► removed, bind again
///        │ yes                     something else is there
///        ▼                                ▼
///      refused                         refused
/// ```
///
/// No connection is possible before the caller listens, so there is no moment in which the mode is another one.
struct SocketFile {
    /// The longest path in bytes.
    ///
    /// With the NUL at its end it is what `sun_path` holds on Apple's systems; on Linux that holds 4 bytes more.
    static let longestPath = 103

    /// Where it is.
    let path: String
    /// The socket; the caller closes it.
    let descriptor: CInt
    /// The number of the file.
    private let number: Int

    /// Makes the file.
    ///
    /// A socket that a process has left behind, at which no process answers, is replaced. Anything else stays as it is.
    ///
    /// - Parameter path: A path in a folder that exists.
    /// - Throws: ``PowerSyncError``, `fileInUse` when another listener or another file is there.
    init(at path: String) throws {
        guard (1...Self.longestPath).contains(path.utf8.count), !path.utf8.contains(0) else {
            throw PowerSyncError.unusableSocketPath(path, longest: Self.longestPath)
        }
        self.path = path
        let address = try SocketAddress(unixDomainSocketPath: path)
        descriptor = try Self.makeSocket(path)
        do {
            if try !Self.took(address, by: descriptor, path) {
                guard try Self.isLeftBehind(path, address) else { throw PowerSyncError.otherListener(at: path) }
                unsafe unlink(path)
                guard try Self.took(address, by: descriptor, path) else { throw PowerSyncError.otherListener(at: path) }
            }
            guard unsafe chmod(path, 0o600) == 0, let number = Self.number(of: path) else {
                throw PowerSyncError.cannotListen(at: path, POSIXError.last)
            }
            self.number = number
        } catch {
            close(descriptor)
            throw error
        }
    }

    /// Whether the file is still the one that was made; to be asked while the socket is open, as no other file has its number then.
    var isOurs: Bool { Self.number(of: path) == number }

    /// Removes the file, unless another one is there; while the socket is open.
    func remove() {
        if isOurs { unsafe unlink(path) }
    }

    private static func makeSocket(_ path: String) throws -> CInt {
        #if canImport(Glibc)
        let kind = CInt(SOCK_STREAM.rawValue)
        #else
        let kind = SOCK_STREAM
        #endif
        let descriptor = socket(AF_UNIX, kind, 0)
        guard descriptor >= 0 else { throw PowerSyncError.cannotListen(at: path, POSIXError.last) }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        return descriptor
    }

    /// - Returns: `false` when something is there already.
    private static func took(_ address: SocketAddress, by descriptor: CInt, _ path: String) throws -> Bool {
        let code = unsafe address.withSockAddr { address, length in
            unsafe bind(descriptor, address, socklen_t(length)) == 0 ? 0 : errno
        }
        guard code != EADDRINUSE else { return false }
        guard code == 0 else { throw PowerSyncError.cannotListen(at: path, POSIXError(code: code)) }
        return true
    }

    /// Whether a socket is there at which no process answers.
    private static func isLeftBehind(_ path: String, _ address: SocketAddress) throws -> Bool {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        guard attributes?[.type] as? FileAttributeType == .typeSocket else { throw PowerSyncError.noSocket(at: path) }
        let descriptor = try makeSocket(path)
        defer { close(descriptor) }
        let code = unsafe address.withSockAddr { address, length in
            unsafe connect(descriptor, address, socklen_t(length)) == 0 ? 0 : errno
        }
        return code == ECONNREFUSED
    }

    /// The number of the file at a path, of a link itself; `nil` when there is none.
    private static func number(of path: String) -> Int? {
        (try? FileManager.default.attributesOfItem(atPath: path))?[.systemFileNumber] as? Int
    }
}
