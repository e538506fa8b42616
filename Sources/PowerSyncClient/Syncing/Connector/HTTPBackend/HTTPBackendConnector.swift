package import Foundation
import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import PowerSyncHTTP
import PowerSyncProtocol
import PowerSyncUpload

/// A connector for a backend that takes an `UploadRequest` with HTTP `POST`: one made with `PowerSyncBackend`, or any other
/// that answers with an `UploadResponse`.
///
/// ```swift
/// let connector = try HTTPBackendConnector(uploadURL: "https://api.example.com/upload") {
///     PowerSyncCredentials(endpoint: "https://sync.example.com", token: try await session.syncToken())
/// }
/// try await database.connect(connector: connector, options: ConnectOptions(uploadRejectionPolicy: .park))
/// ```
///
/// Several transactions go into one request, each as a whole, with the id of the client and the number of each write: when an
/// answer is lost, the same writes are sent again, and the backend recognises them.
///
/// | The backend | The connector |
/// | --- | --- |
/// | has applied all, or the first part | takes that out of the queue, and goes on behind it |
/// | rejects a write (4xx for the write) | throws an ``UploadRejectionError``: ``ConnectOptions/uploadRejectionPolicy`` decides |
/// | answers 401 | gets new credentials, and tries once more |
/// | answers 413 | sends less for a while; a transaction that is too large alone is rejected |
/// | answers 408, or not in time | tries again, with less: the network may be slow |
/// | answers 429 or 503 with `Retry-After` | tries again, but not before |
/// | answers anything else, or nothing | tries again: ``HTTPBackendError`` |
///
/// A `write_checkpoint` of the answer goes to the completion and to the rejection.
public final class HTTPBackendConnector: PowerSyncBackendConnectorProtocol {
    private struct State {
        /// The value of `Authorization`; `nil` before the first upload.
        var authorization: String?
        /// How often ``HTTPBackendConnector/fetchCredentials()`` was called: a value that was asked for earlier is not kept.
        var fetches = 0
        /// Before when the backend wants to be left alone.
        var pausedUntil: Duration?
        /// The most entries of a request.
        var limit: UploadLimit
    }

    /// Where to.
    private let url: String
    private let options: HTTPBackendOptions
    private let authorize: (@Sendable (_ refused: String?) async throws -> String?)?
    private let credentials: @Sendable () async throws -> PowerSyncCredentials?
    private let clock: ElapsedClock
    private let now: @Sendable () -> Date
    private let state: NIOLockedValueBox<State>

    /// Creates a connector.
    ///
    /// - Parameters:
    ///   - uploadURL: Where writes are posted to, with `https`, or `http` for development.
    ///   - options: How it uploads.
    ///   - authorization: The value of the `Authorization` header, for a backend with tokens of its own; gets the value that was
    ///     refused, if one was. Without it, the backend gets `Bearer` and the token for the sync service. The value is kept until
    ///     the backend answers 401 or ``fetchCredentials()`` is called, which each connection begins with: another user may have
    ///     signed in. So it is asked for again after `invalidateCredentials()`, and whenever the token for the sync service is renewed.
    ///   - credentials: Fetches a token for the sync service, as
    ///     ``PowerSyncBackendConnectorProtocol/fetchCredentials()`` says; `nil` when no user is signed in.
    /// - Throws: ``PowerSyncError/operationFailed(message:underlyingError:)`` when the address or an option cannot be used.
    public convenience init(
        uploadURL: String,
        options: HTTPBackendOptions = HTTPBackendOptions(),
        authorization: (@Sendable (_ refused: String?) async throws -> String?)? = nil,
        credentials: @escaping @Sendable () async throws -> PowerSyncCredentials?
    ) throws {
        try self.init(
            uploadURL: uploadURL,
            options: options,
            authorization: authorization,
            clock: ContinuousClock(),
            credentials: credentials
        )
    }

    package init(
        uploadURL: String,
        options: HTTPBackendOptions = HTTPBackendOptions(),
        authorization: (@Sendable (_ refused: String?) async throws -> String?)? = nil,
        clock: any Clock<Duration>,
        now: @escaping @Sendable () -> Date = { Date() },
        credentials: @escaping @Sendable () async throws -> PowerSyncCredentials?
    ) throws {
        try options.validate()
        try HTTPBackendConnector.check(url: uploadURL)
        url = uploadURL
        self.options = options
        self.clock = ElapsedClock(clock)
        self.now = now
        self.credentials = credentials
        authorize = authorization
        state = NIOLockedValueBox(State(limit: UploadLimit(maximum: options.maximumEntries)))
    }

    /// Fetches a token for the sync service.
    ///
    /// What was kept for the `Authorization` header of uploads is forgotten. A connector of yours that uploads through this one
    /// has to pass this call on as well.
    public func fetchCredentials() async throws -> PowerSyncCredentials? {
        let fetches = state.withLockedValue { state in
            state.fetches += 1
            if authorize != nil { state.authorization = nil }
            return state.fetches
        }
        let credentials = try await credentials()
        if authorize == nil { keep(credentials.map { "Bearer \($0.token)" }, since: fetches) }
        return credentials
    }

    /// Uploads the transactions at the head of the queue with one request.
    ///
    /// - Parameter database: The database that is connected.
    /// - Throws: ``UploadRejectionError`` for writes that the backend will never accept, else ``HTTPBackendError`` and what the
    ///   closures of the connector throw.
    public func uploadData(database: any PowerSyncDatabaseProtocol) async throws {
        if let pausedUntil = state.withLockedValue({ $0.pausedUntil }), clock.now < pausedUntil {
            try await clock.sleep(until: pausedUntil)
        }
        let clientID = try await database.getClientId()
        while true {
            let batch = try await UploadBatch.next(
                of: database,
                maximumEntries: state.withLockedValue { $0.limit.entries },
                maximumBytes: options.maximumBytes
            )
            guard let batch else { return }
            let request = UploadRequest(clientID: clientID, entries: batch.entries)
            do {
                let response = try await post(request)
                state.withLockedValue { $0.limit.accepted(batch.entries.count) }
                try await finish(batch, response)
                return
            } catch let error as HTTPBackendError where error.httpStatus == 413 {
                try shrink(batch)
            } catch let error as HTTPBackendError where error.code == .timeout || error.httpStatus == 408 {
                // Else a network that is too slow for the request would get it again and again.
                if batch.transactions.count > 1 { state.withLockedValue { $0.limit.refused(batch.entries.count) } }
                throw error
            }
        }
    }

    /// Sends a request, and once more with new credentials when the backend refuses those.
    private func post(_ request: UploadRequest) async throws -> UploadResponse {
        do {
            let authorization = try await authorization(replacing: nil)
            do {
                return try await post(request, authorization: authorization)
            } catch let error as HTTPBackendError where error.code == .unauthorized {
                let renewed = try await self.authorization(replacing: authorization)
                return try await post(request, authorization: renewed)
            }
        } catch let error as HTTPBackendError {
            if let delay = error.retryAfter {
                let pause = Duration.seconds(min(max(delay, 0), options.longestRetryAfter))
                state.withLockedValue { $0.pausedUntil = clock.now + pause }
            }
            throw error
        }
    }

    /// The value of the `Authorization` header.
    ///
    /// - Parameter refused: The value that the backend has refused.
    /// - Returns: The kept value, or a new one.
    /// - Throws: ``HTTPBackendError`` when no user is signed in, what the closures of the app throw, and `CancellationError`: after the
    ///   end of a connection, the value may be that of another user.
    private func authorization(replacing refused: String?) async throws -> String {
        try Task.checkCancellation()
        let (kept, fetches) = state.withLockedValue { ($0.authorization, $0.fetches) }
        if let kept, kept != refused { return kept }
        let value =
            if let authorize { try await authorize(refused) } else {
                try await credentials().map { "Bearer \($0.token)" }
            }
        keep(value, since: fetches)
        guard let value else {
            throw HTTPBackendError(.unauthorized, "Nobody is signed in: there are no credentials for \(url)")
        }
        try Task.checkCancellation()
        return value
    }

    /// Keeps the value of the `Authorization` header, unless ``fetchCredentials()`` was called after it was asked for.
    private func keep(_ authorization: String?, since fetches: Int) {
        state.withLockedValue { state in
            guard state.fetches == fetches else { return }
            state.authorization = authorization
        }
    }

    /// Takes out of the queue what the backend has, and reports the rest.
    private func finish(_ batch: UploadBatch, _ response: UploadResponse) async throws {
        let outcome: UploadBatch.Outcome
        do {
            outcome = try batch.outcome(of: response)
        } catch {
            throw HTTPBackendError(
                .unexpectedResponse,
                "What \(url) answered is not about the writes that it was sent: \(error)"
            )
        }
        state.withLockedValue { $0.pausedUntil = nil }
        if outcome.completed > 0 {
            let last = batch.transactions[outcome.completed - 1]
            let isWhole = outcome.completed == batch.transactions.count
            try await last.complete(writeCheckpoint: isWhole ? response.writeCheckpoint : nil)
        }
        if !outcome.rejections.isEmpty {
            // It counts when nothing stays in the queue: then the answer was about all that was in it.
            throw UploadRejectionError(outcome.rejections, writeCheckpoint: response.writeCheckpoint)
        }
        if let later = outcome.later {
            throw HTTPBackendError(
                .later,
                "\(url) wants the write \(later.operationID) later: \(later.message) (\(later.code))",
                httpStatus: later.status
            )
        }
        guard outcome.completed > 0 else {
            throw HTTPBackendError(.noProgress, "\(url) has neither applied nor rejected anything")
        }
    }

    /// Makes the next request smaller than one that was too large.
    private func shrink(_ batch: UploadBatch) throws {
        guard batch.transactions.count > 1 else {
            throw UploadRejectionError(
                reason: """
                    The transaction is larger than the backend takes in one request (413): it has \
                    \(batch.entries.count.counted("write")).
                    """
            )
        }
        state.withLockedValue { $0.limit.refused(batch.entries.count) }
    }
}

// MARK: - Requests

extension HTTPBackendConnector {
    /// The most bytes of an answer that are read, besides those for each write: 16 MiB.
    private static let responseLimit = 16 << 20
    /// How many more there may be for each write, which may be rejected: 512.
    private static let rejectionLimit = 512
    /// The most bytes of an answer that are shown: 500.
    private static let shownLimit = 500
    /// How many bytes of a request give the answer a second more: 4 KiB, which slow mobile networks take.
    private static let bytesPerSecond = 4 << 10

    /// Checks the address.
    ///
    /// - Throws: ``PowerSyncError/operationFailed(message:underlyingError:)`` that quotes it.
    private static func check(url: String) throws(PowerSyncError) {
        guard
            let components = URLComponents(string: url),
            let scheme = components.scheme?.lowercased(), scheme == "http" || scheme == "https",
            let host = components.host, !host.isEmpty, components.url?.hasUsablePort == true, components.user == nil,
            components.password == nil
        else {
            throw .notUploadAddress(url)
        }
    }

    /// Posts a request and reads the answer.
    ///
    /// - Throws: ``HTTPBackendError``, or `CancellationError`.
    private func post(_ upload: UploadRequest, authorization: String) async throws -> UploadResponse {
        let exchange = options.httpClient.exchange(trusting: options.trustedAuthorities)
        var request = HTTPExchangeRequest(.POST, url)
        for (name, value) in options.httpClient.exchange.additionalHeaders {
            request.headers.replaceOrAdd(name: name, value: value)
        }
        for (name, value) in options.headers { request.headers.replaceOrAdd(name: name, value: value) }
        request.headers.replaceOrAdd(name: "Authorization", value: authorization)
        request.headers.replaceOrAdd(name: "Content-Type", value: "application/json")
        request.headers.replaceOrAdd(name: "User-Agent", value: HTTPTransport.userAgent)
        let json = ByteBuffer(bytes: upload.json)
        request.body = .bytes(json)
        let timeout = timeout(ofBytes: json.readableBytes)
        let limit = Self.responseLimit + Self.rejectionLimit * upload.entries.count
        let (status, headers, body) = try await answer(of: exchange, to: request, upTo: limit, within: timeout)
        guard (200..<300).contains(status) else { throw failure(status, headers, body) }
        do {
            return try UploadResponse(json: body)
        } catch {
            throw HTTPBackendError(
                .unexpectedResponse,
                "What POST \(url) answered is no answer to an upload, \(error): \(Self.shown(body))",
                httpStatus: status
            )
        }
    }

    /// How long a request of so many bytes may take, until its answer has come.
    private func timeout(ofBytes bytes: Int) -> Duration {
        Duration(clampingSeconds: options.timeout) + .seconds(bytes / Self.bytesPerSecond)
    }

    private func answer(
        of exchange: any HTTPExchange,
        to request: HTTPExchangeRequest,
        upTo limit: Int,
        within timeout: Duration
    ) async throws -> (status: Int, HTTPHeaders, ByteBuffer) {
        do {
            return try await AppCall.whileWorking {
                try await clock.withAnswerLimit(
                    timeout,
                    otherwise: HTTPBackendError(.timeout, "POST \(url) was not answered in \(timeout)")
                ) {
                    let response = try await exchange.send(request)
                    return (response.status, response.headers, try await response.body.collect(upTo: limit))
                }
            }
        } catch let error as HTTPBackendError {
            throw error
        } catch let error as HTTPExchangeError where error.code == .tooLong(limit) {
            throw HTTPBackendError(.unexpectedResponse, "What POST \(url) answered is too long: \(error)")
        } catch {
            try Task.checkCancellation()
            throw HTTPBackendError(.connection, "POST \(url) failed", underlyingError: error)
        }
    }

    private func failure(_ status: Int, _ headers: HTTPHeaders, _ body: ByteBuffer) -> HTTPBackendError {
        let redirect = HTTPRedirect(status: status, headers: headers, of: url)
        return HTTPBackendError(
            status == 401 ? .unauthorized : .status,
            "POST \(url) was answered with status \(status): \(Self.shown(body))\(redirect.map { ". \($0.sentence)" } ?? "")",
            httpStatus: status,
            retryAfter: headers.first(name: "Retry-After").flatMap(retryAfter)
        )
    }

    /// The value of a `Retry-After` header in seconds from now; it is a number of seconds, or a date.
    private func retryAfter(_ value: String) -> TimeInterval? {
        if let seconds = UInt32(value) { return TimeInterval(seconds) }
        let now = now().timeIntervalSince1970
        return HTTPDate(value, now: Int64(now)).map { max(0, TimeInterval($0.seconds) - now) }
    }

    private static func shown(_ body: ByteBuffer) -> String {
        guard body.readableBytes > 0 else { return "(empty response)" }
        guard body.readableBytes > shownLimit else { return String(buffer: body) }
        return String(decoding: body.readableBytesView.prefix(shownLimit), as: UTF8.self) + "…"
    }
}
