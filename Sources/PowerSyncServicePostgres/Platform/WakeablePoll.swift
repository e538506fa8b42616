import NIOConcurrencyHelpers

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Waits for a socket, on a thread that may block, and can be woken by any other thread.
final class WakeablePoll: Sendable {
    /// What a wait has ended with; nothing when the time was up.
    struct Readiness: OptionSet {
        let rawValue: Int

        /// The socket can be read, or has ended.
        static let readable = Readiness(rawValue: 1)
        /// The socket can be written.
        static let writable = Readiness(rawValue: 2)
        /// ``WakeablePoll/wake()`` was called.
        static let woken = Readiness(rawValue: 4)
    }

    /// A pipe: what is written into one end ends a wait for the other one.
    private let readEnd: CInt
    private let writeEnd: CInt

    /// Creates a poll.
    ///
    /// - Throws: ``PostgresError`` when the process has too many open files.
    init() throws(PostgresError) {
        var ends: [CInt] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else {
            throw PostgresError(
                .connection,
                "The process has too many open files (errno \(errno)).",
                activity: "opening a pipe"
            )
        }
        for end in ends {
            _ = fcntl(end, F_SETFL, fcntl(end, F_GETFL) | O_NONBLOCK)
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        }
        readEnd = ends[0]
        writeEnd = ends[1]
    }

    deinit {
        close(readEnd)
        close(writeEnd)
    }

    /// Ends a wait, or the next one if there is none.
    func wake() {
        // A full pipe wakes, too.
        var byte: UInt8 = 0
        _ = unsafe write(writeEnd, &byte, 1)
    }

    /// Waits.
    ///
    /// - Parameters:
    ///   - socket: The socket.
    ///   - interest: What to wait for at the socket.
    ///   - timeout: How long.
    /// - Returns: What has happened.
    func wait(for socket: CInt, _ interest: Readiness, timeout: Duration) -> Readiness {
        var events: Int16 = 0
        if interest.contains(.readable) { events |= Int16(POLLIN) }
        if interest.contains(.writable) { events |= Int16(POLLOUT) }
        var watched = [
            pollfd(fd: events == 0 ? -1 : socket, events: events, revents: 0),
            pollfd(fd: readEnd, events: Int16(POLLIN), revents: 0),
        ]
        // Rounded up, so that a wait that is up is not repeated for the rest of a millisecond.
        let milliseconds = max(0, timeout / .milliseconds(1)).rounded(.up)
        guard unsafe poll(&watched, 2, CInt(min(milliseconds, 3_600_000))) > 0 else { return [] }
        var result: Readiness = []
        let ended = Int16(POLLHUP) | Int16(POLLERR) | Int16(POLLNVAL)
        if watched[0].revents & (Int16(POLLIN) | ended) != 0 { result.insert(.readable) }
        if watched[0].revents & (Int16(POLLOUT) | ended) != 0 { result.insert(.writable) }
        if watched[1].revents != 0 {
            result.insert(.woken)
            var bytes = [UInt8](repeating: 0, count: 64)
            while unsafe read(readEnd, &bytes, bytes.count) > 0 {}
        }
        return result
    }
}
