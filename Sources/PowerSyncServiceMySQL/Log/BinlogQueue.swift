import NIOConcurrencyHelpers
import NIOCore
import PowerSyncMySQLConnection
import PowerSyncServiceCore

/// The events that a connection has received, until they are taken.
final class BinlogQueue: Sendable {
    /// Bytes that wait to be taken, from which on the connection is left with what it receives: it has a limit of its own.
    private static let maximumBytes = 4 << 20

    private struct State {
        var events: [ByteBuffer] = []
        var bytes = 0
        /// How many events have come.
        var count: UInt64 = 0
        var failure: (any Error)?
    }

    private let state = NIOLockedValueBox(State())
    private let news = ChangeSignal()
    private let space = ChangeSignal()

    /// Takes events from a connection, until there are no more.
    func fill(from packets: BinlogPackets) async {
        var packets = packets
        do {
            while let event = try await packets.next() {
                var events = [event]
                var bytes = event.readableBytes
                while bytes < Self.maximumBytes, let event = try packets.nextIfArrived() {
                    events.append(event)
                    bytes += event.readableBytes
                }
                append(events, bytes)
                while true {
                    let version = space.version
                    guard state.withLockedValue({ $0.bytes >= Self.maximumBytes }) else { break }
                    try await space.wait(after: version)
                }
            }
            fail(MySQLConnectionError(.lost, "The server has ended its log."))
        } catch {
            fail(error)
        }
    }

    private func append(_ events: [ByteBuffer], _ bytes: Int) {
        state.withLockedValue { state in
            state.events += events
            state.bytes += bytes
            state.count += UInt64(events.count)
        }
        news.advance()
    }

    private func fail(_ error: any Error) {
        state.withLockedValue { $0.failure = $0.failure ?? error }
        news.advance()
    }

    /// How many events have come, those that were taken, too.
    var count: UInt64 { state.withLockedValue(\.count) }

    /// What has come.
    ///
    /// - Returns: Events in their order; none when there are none at the moment.
    /// - Throws: Why there are no more, once everything before has been taken.
    func take() throws -> [ByteBuffer] {
        let events = try state.withLockedValue { state in
            if state.events.isEmpty, let failure = state.failure { throw failure }
            defer {
                state.events = []
                state.bytes = 0
            }
            return state.events
        }
        if !events.isEmpty { space.advance() }
        return events
    }

    /// Changes when events have come, or there will be no more.
    var version: UInt64 { news.version }

    /// Waits for what ``version`` says.
    func wait(after version: UInt64) async throws {
        try await news.wait(after: version)
    }
}
