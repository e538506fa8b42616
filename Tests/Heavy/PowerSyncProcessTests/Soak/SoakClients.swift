import NIOConcurrencyHelpers
import NIOCore
import PowerSyncTesting
import TestSupport

/// Devices of as many users, each with one stream after the other, of which it reads everything.
///
/// They know which round the last complete checkpoint shows: the name of each user's list is `round <number>`.
final class SoakClients {
    private let port: Int
    private let makeToken: @Sendable (_ user: String) throws -> String
    /// By the number of the user.
    private let rounds: NIOLockedValueBox<[Int]>
    private let news = Signal()
    private var tasks: [Task<Void, Never>] = []

    /// Opens the streams.
    ///
    /// - Parameters:
    ///   - count: How many.
    ///   - port: Of the service.
    ///   - makeToken: Makes a token for each stream.
    init(_ count: Int, of port: Int, token makeToken: @escaping @Sendable (_ user: String) throws -> String) {
        self.port = port
        self.makeToken = makeToken
        rounds = NIOLockedValueBox(Array(repeating: -1, count: count))
        for number in 0..<count { tasks.append(open(number)) }
    }

    deinit {
        for task in tasks { task.cancel() }
    }

    /// What a user is called.
    static func name(_ number: Int) -> String { "user-\(number)" }

    /// Lets a device leave, and come back with nothing.
    func restart(_ number: Int) async {
        tasks[number].cancel()
        await tasks[number].value
        rounds.withLockedValue { $0[number] = -1 }
        tasks[number] = open(number)
    }

    /// Waits until all have a checkpoint that shows a round.
    func wait(for round: Int) async throws {
        try await news.wait { rounds.withLockedValue { $0.allSatisfy { $0 >= round } } ? () : nil }
    }

    /// Closes the streams.
    func close() async {
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
    }

    private func open(_ number: Int) -> Task<Void, Never> {
        let device = Device(number: number, port: port, makeToken: makeToken, rounds: rounds, news: news)
        return Task { await device.follow() }
    }

    private struct Device: Sendable {
        /// The beginning of the line after which everything is there; that of a higher priority has another one.
        private static let completion = #"{"checkpoint_complete":"#

        let number: Int
        let port: Int
        let makeToken: @Sendable (_ user: String) throws -> String
        let rounds: NIOLockedValueBox<[Int]>
        let news: Signal

        /// Opens one stream after the other: each ends with its token.
        func follow() async {
            while !Task.isCancelled, let token = try? makeToken(SoakClients.name(number)) {
                try? await read(token)
            }
        }

        private func read(_ token: String) async throws {
            try await RawConnection.connect(port: port) { connection in
                try await connection.send(
                    """
                    POST /sync/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Token \(token)\r\n\
                    Content-Type: application/json\r\nContent-Length: 17\r\n\r\n{"raw_data":true}
                    """
                )
                var round: Int?
                while true {
                    let text = try await connection.text(until: Self.completion)
                    guard text.contains(Self.completion) else { return }
                    if let name = text.matches(of: /round (\d+)/).last { round = Int(name.1) }
                    if let round { didComplete(round) }
                }
            }
        }

        private func didComplete(_ round: Int) {
            rounds.withLockedValue { $0[number] = max($0[number], round) }
            news.fire()
        }
    }
}
