import Foundation
import NIOConcurrencyHelpers
import PowerSyncTesting
import TestSupport
import Testing

/// Clients of a service that ask for all of a user's rows, and read the answer as it is.
struct RawClients {
    /// The beginning of the line after which everything is there; that of a higher priority has another one.
    static let completion = #"{"checkpoint_complete":"#

    /// Of the service.
    let port: Int
    /// Of the user.
    let token: String

    /// Asks for a stream.
    var request: String {
        """
        POST /sync/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Token \(token)\r\n\
        Content-Type: application/json\r\nContent-Length: 17\r\n\r\n{"raw_data":true}
        """
    }

    /// Reads a stream up to its first checkpoint, or to its end.
    func readCheckpoint() async throws -> String {
        try await RawConnection.connect(port: port) { connection in
            try await connection.send(request)
            let text = try await connection.text(until: Self.completion)
            return String(text[..<(text.range(of: Self.completion)?.upperBound ?? text.endIndex)])
        }
    }

    /// Reads the line of a checkpoint once clients are served from a replication stream.
    ///
    /// When this one is active, those of the former one are sent away.
    ///
    /// - Parameter stream: The number of the replication stream, with which the names of buckets begin.
    /// - Returns: The head of the answer and the line.
    /// - Throws: An error of connecting: the service does not run.
    func firstLine(ofStream stream: Int) async throws -> String { try await firstLine(withBucket: "\(stream)#") }

    /// Reads the line of a checkpoint once it has a bucket.
    ///
    /// - Parameter start: What the name of the bucket begins with.
    /// - Returns: The head of the answer and the line.
    /// - Throws: An error of connecting: the service does not run.
    func firstLine(withBucket start: String) async throws -> String {
        while true {
            let line = try await RawConnection.connect(port: port) { connection -> String? in
                try await connection.send(request)
                let text = try await connection.text(until: #""streams":["#)
                if text.contains(#""bucket":"\#(start)"#) { return text }
                _ = try await connection.textUntilClosed()
                return nil
            }
            if let line { return line }
        }
    }

    /// Opens streams, all at once, and leaves them open during a closure that ends the service.
    func withStreams(_ count: Int, _ body: () async throws -> Void) async throws {
        let (served, failure) = (NIOLockedValueBox(0), NIOLockedValueBox<(any Error)?>(nil))
        let news = Signal()
        try await withThrowingTaskGroup { group in
            for _ in 0..<count {
                group.addTask {
                    do {
                        try await RawConnection.connect(port: port) { connection in
                            try await connection.send(request)
                            let text = try await connection.text(until: Self.completion)
                            #expect(text.contains(Self.completion), "\(text)")
                            served.withLockedValue { $0 += 1 }
                            news.fire()
                            // A killed process resets the connection.
                            _ = try? await connection.textUntilClosed()
                        }
                    } catch {
                        failure.withLockedValue { $0 = $0 ?? error }
                        news.fire()
                        throw error
                    }
                }
            }
            let opened = try await news.wait { () -> Result<Void, any Error>? in
                if let error = failure.withLockedValue({ $0 }) { return .failure(error) }
                return served.withLockedValue { $0 == count } ? .success(()) : nil
            }
            // The others are cancelled.
            try opened.get()
            try await body()
            try await group.waitForAll()
        }
    }
}
