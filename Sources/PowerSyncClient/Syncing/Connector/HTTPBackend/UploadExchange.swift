import Foundation
import NIOCore
import NIOHTTP1
import PowerSyncHTTP
import PowerSyncProtocol
import PowerSyncUpload

/// Posts uploads to a backend.
struct UploadExchange: Sendable {
    /// The most bytes of an answer that are read, besides those for each write: 16 MiB.
    private static let responseLimit = 16 << 20
    /// How many more there may be for each write, which may be rejected: 512.
    private static let rejectionLimit = 512
    /// The most bytes of an answer that are shown: 500.
    private static let shownLimit = 500
    /// How many bytes of a request give the answer a second more: 4 KiB, which slow mobile networks take.
    private static let bytesPerSecond = 4 << 10

    /// Where to.
    let url: String
    private let options: HTTPBackendOptions
    private let clock: ElapsedClock
    private let now: @Sendable () -> Date

    /// Checks the address.
    ///
    /// - Throws: ``PowerSyncError/operationFailed(message:underlyingError:)`` that quotes it.
    init(
        url: String,
        options: HTTPBackendOptions,
        clock: ElapsedClock,
        now: @escaping @Sendable () -> Date
    ) throws(PowerSyncError) {
        guard
            let components = URLComponents(string: url),
            let scheme = components.scheme?.lowercased(), scheme == "http" || scheme == "https",
            let host = components.host, !host.isEmpty, components.url?.hasUsablePort == true, components.user == nil,
            components.password == nil
        else {
            throw .notUploadAddress(url)
        }
        self.url = url
        self.options = options
        self.clock = clock
        self.now = now
    }

    /// Posts a request and reads the answer.
    ///
    /// - Throws: ``HTTPBackendError``, or `CancellationError`.
    func post(_ upload: UploadRequest, authorization: String) async throws -> UploadResponse {
        let exchange = options.httpClient.exchange(trusting: options.trustedAuthorities)
        var request = HTTPExchangeRequest(.POST, url)
        for (name, value) in options.httpClient.exchange.additionalHeaders {
            request.headers.replaceOrAdd(name: name, value: value)
        }
        for (name, value) in options.headers { request.headers.replaceOrAdd(name: name, value: value) }
        request.headers.replaceOrAdd(name: "Authorization", value: authorization)
        request.headers.replaceOrAdd(name: "Content-Type", value: "application/json")
        request.headers.replaceOrAdd(name: "User-Agent", value: UserAgent.text)
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
