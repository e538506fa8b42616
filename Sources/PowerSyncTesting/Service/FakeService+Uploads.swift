import NIOConcurrencyHelpers
public import PowerSync

extension FakeService {
    /// A transaction that a client has uploaded.
    public struct Upload: Sendable {
        /// Whose it is.
        public let user: String
        /// The id of the client's database.
        public let clientID: String
        /// The writes, in order.
        public let entries: [CrudEntry]
        /// How many times the client has uploaded it by now, from 1.
        public let attempt: Int
    }

    /// How the backend answers an upload.
    public struct Answer: Sendable {
        enum Kind: Sendable {
            case apply
            case acknowledge
            case reject(reason: String)
            case rejectEntries([UploadRejection])
            case fail(any Error)
            case hold
        }

        let kind: Kind

        /// The writes change the rows of the service, in one transaction.
        ///
        /// A `PUT` inserts a row, or changes the columns of the one that is there. A `PATCH` or `DELETE` of a row that is gone changes
        /// nothing. Tables that no stream reads are fine.
        public static let apply = Answer(kind: .apply)

        /// The writes are accepted, and change nothing: the test has done itself what the backend would do.
        public static let acknowledge = Answer(kind: .acknowledge)

        /// The transaction will never be accepted: `uploadData` throws an `UploadRejectionError`.
        ///
        /// `ConnectOptions.uploadRejectionPolicy` says what becomes of it.
        ///
        /// - Parameter reason: Why, for the app to show.
        /// - Returns: The answer.
        public static func reject(_ reason: String) -> Answer { Answer(kind: .reject(reason: reason)) }

        /// Some writes of the transaction will never be accepted: `uploadData` throws an `UploadRejectionError` that names them.
        public static func reject(_ rejections: [UploadRejection]) -> Answer {
            Answer(kind: .rejectEntries(rejections))
        }

        /// The upload fails, and is tried again later: `uploadData` throws the error.
        public static func fail(_ error: any Error) -> Answer { Answer(kind: .fail(error)) }

        /// The upload gets no answer before there is another one, by ``Uploads/answer(_:)-(FakeService.Answer)``.
        public static let hold = Answer(kind: .hold)
    }

    /// What clients upload to a ``FakeService``, and how it is answered: with ``Answer/apply``, unless a test says otherwise.
    public final class Uploads: Sendable {
        private struct State {
            var answer: @Sendable (Upload) async throws -> Answer = { _ in .apply }
            /// How many answers there have been.
            var version: UInt64 = 0
            var received: [Upload] = []
            /// How many of them ``next()`` has returned.
            var taken = 0
            var attempts: [String: Int] = [:]
        }

        private let state = NIOLockedValueBox(State())
        private let changes: Signal

        init(_ changes: Signal) {
            self.changes = changes
        }

        /// All uploads so far, in the order in which they came; one that is tried again comes again.
        public var received: [Upload] { state.withLockedValue { $0.received } }

        /// Waits for the next upload that has not been returned yet.
        ///
        /// - Throws: `CancellationError`
        public func next() async throws -> Upload {
            try await changes.wait {
                state.withLockedValue { state in
                    guard state.taken < state.received.count else { return nil }
                    defer { state.taken += 1 }
                    return state.received[state.taken]
                }
            }
        }

        /// Answers uploads from now on, also those that are held.
        ///
        /// Clients whose uploads have failed try again at once.
        ///
        /// ```swift
        /// service.uploads.answer { upload in
        ///     upload.entries.contains { $0.table == "invoices" } ? .reject("invoices are closed") : .apply
        /// }
        /// ```
        ///
        /// - Parameter body: Makes the answer; what it throws the upload fails with. It may change rows of the service. The service
        ///   keeps it, so it should hold the service weakly.
        public func answer(_ body: @escaping @Sendable (_ upload: Upload) async throws -> Answer) {
            state.withLockedValue { state in
                state.answer = body
                state.version += 1
            }
            changes.fire()
        }

        /// Answers all uploads from now on in the same way, also those that are held.
        ///
        /// - Parameter answer: The answer.
        public func answer(_ answer: Answer) {
            self.answer { _ in answer }
        }

        var version: UInt64 { state.withLockedValue { $0.version } }

        /// Notes an upload, and makes its answer.
        ///
        /// - Parameters:
        ///   - user: Whose it is.
        ///   - clientID: The id of the database.
        ///   - entries: The writes, not empty.
        ///   - checkOnline: Throws when the client has no network any more.
        /// - Returns: The answer, which is not ``Answer/hold``.
        /// - Throws: What `checkOnline` or the test's answer throws, or `CancellationError`.
        func receive(
            from user: String,
            clientID: String,
            _ entries: [CrudEntry],
            checkOnline: () throws -> Void
        ) async throws -> Answer {
            let upload = state.withLockedValue { state in
                let key = "\(entries.first?.clientId ?? 0) of \(clientID)"
                state.attempts[key, default: 0] += 1
                let attempt = state.attempts[key] ?? 1
                let upload = Upload(user: user, clientID: clientID, entries: entries, attempt: attempt)
                state.received.append(upload)
                return upload
            }
            changes.fire()
            while true {
                let (body, version) = state.withLockedValue { ($0.answer, $0.version) }
                let answer = try await body(upload)
                guard case .hold = answer.kind else {
                    try checkOnline()
                    return answer
                }
                try await changes.wait {
                    do {
                        try checkOnline()
                        return self.version > version ? Result<Void, any Error>.success(()) : nil
                    } catch {
                        return .failure(error)
                    }
                }.get()
            }
        }
    }
}
