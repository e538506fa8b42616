import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
package import PowerSyncHTTP

#if canImport(FoundationNetworking)
import Foundation
package import FoundationNetworking
#else
package import Foundation
#endif

/// Sends HTTP requests in sessions of its own, with an app's configuration.
///
/// The app's own session is not used, for its delegate belongs to the app, and a task in a session that was invalidated ends the
/// process. Each stream has a session of its own, so that giving up a stream closes its connection even where many streams share
/// one (HTTP/2): the next attempt must not go the same broken way. All other requests share a session, which is replaced when one
/// of them is given up, for the same reason.
package final class URLSessionExchange: HTTPExchange {
    package let additionalHeaders: [String: String]
    private let pausing: ResponsePausing
    private let fileIdleTimeout: Duration
    private let shared: NIOLockedValueBox<URLSession>

    /// Creates an exchange.
    ///
    /// - Parameters:
    ///   - configuration: The app's.
    ///   - pausing: What happens when answers arrive faster than they are read.
    ///   - fileIdleTimeout: How long nothing of a file may be sent or received, in whole seconds.
    package init(
        _ configuration: URLSessionConfiguration,
        pausing: ResponsePausing = .platform,
        fileIdleTimeout: Duration = HTTPExchangeRequest.fileIdleTimeout
    ) {
        self.fileIdleTimeout = fileIdleTimeout
        additionalHeaders = configuration.headersForRequests
        self.pausing = pausing
        shared = NIOLockedValueBox(URLSession(exchanging: configuration.forExchanges))
    }

    deinit {
        shared.withLockedValue { $0 }.finishTasksAndInvalidate()
    }

    package func send(_ request: HTTPExchangeRequest) async throws -> HTTPExchangeResponse {
        let url = try request.destination
        let isStream = request.purpose == .stream
        let urlRequest = URLRequest(request, to: url, idleTimeout: request.purpose == .file ? fileIdleTimeout : nil)
        // The system sends a file by its path.
        var memory: Data?
        if case .file(let file) = request.body, file.path == nil {
            memory = Data(try await file.collect().readableBytesView)
        }
        // Under the lock: a session must not be retired in between.
        let (session, task) = shared.withLockedValue { [memory] shared in
            let session = isStream ? URLSession(exchanging: shared.configuration) : shared
            return (session, session.task(for: urlRequest, body: request.body, memory))
        }
        guard let transfers = session.delegate as? TransferDelegate else { throw HTTPExchangeError(.connection) }
        let transfer = Transfer(task, of: request, pausing: pausing)
        transfers.add(transfer, of: task)
        // It ends with its only task.
        if isStream { session.finishTasksAndInvalidate() }
        do {
            let head = try await transfer.head()
            return HTTPExchangeResponse(
                status: head.statusCode,
                headers: HTTPHeaders(head),
                decompressed: nil,
                body: TransferBody(transfer)
            )
        } catch {
            if !isStream { retire(session) }
            throw error
        }
    }

    /// Lets the others end what they have begun in a session, and begins no more in it.
    private func retire(_ session: URLSession) {
        let isCurrent = shared.withLockedValue { current in
            guard current === session else { return false }
            current = URLSession(exchanging: session.configuration)
            return true
        }
        if isCurrent { session.finishTasksAndInvalidate() }
    }
}

extension URLSession {
    /// A session whose delegate gives what arrives to its transfers.
    fileprivate convenience init(exchanging configuration: URLSessionConfiguration) {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        self.init(configuration: configuration, delegate: TransferDelegate(), delegateQueue: queue)
    }

    fileprivate func task(
        for request: URLRequest,
        body: HTTPExchangeRequest.Body,
        _ memory: Data?
    ) -> URLSessionTask {
        if let memory { return uploadTask(with: request, from: memory) }
        guard case .file(let file) = body, let path = file.path else { return dataTask(with: request) }
        return uploadTask(with: request, fromFile: URL(fileURLWithPath: path))
    }
}

extension URLRequest {
    /// Longer than any task lasts, in seconds: a year.
    fileprivate static let noTimeout: TimeInterval = 365 * 86_400

    fileprivate init(_ request: HTTPExchangeRequest, to url: URL, idleTimeout: Duration?) {
        self.init(url: url)
        cachePolicy = .reloadIgnoringLocalCacheData
        timeoutInterval = idleTimeout.map { TimeInterval($0.components.seconds) } ?? Self.noTimeout
        httpMethod = request.method.rawValue
        for (name, value) in request.headers { addValue(value, forHTTPHeaderField: name) }
        if case .bytes(let bytes) = request.body { httpBody = Data(bytes.readableBytesView) }
    }
}

extension URLSessionConfiguration {
    /// Names, in lower case, that belong to the caller of a request, or to the connection.
    private static let reservedHeaders: Set<String> = [
        "accept", "accept-encoding", "authorization", "connection", "content-length", "content-type", "host",
        "sec-websocket-extensions", "sec-websocket-key", "sec-websocket-version", "transfer-encoding", "upgrade",
        "user-agent",
    ]

    /// The headers that the app adds to each request, without those that are not its own.
    fileprivate var headersForRequests: [String: String] {
        var headers: [String: String] = [:]
        for (name, value) in httpAdditionalHeaders ?? [:] {
            guard let name = name as? String, !Self.reservedHeaders.contains(name.lowercased()) else { continue }
            headers[name] = "\(value)"
        }
        return headers
    }

    /// The app's configuration as far as it is for requests of this module.
    package var forExchanges: URLSessionConfiguration {
        // The system runs tasks of background sessions without this process; none of them can be read as it arrives.
        let isBackground = identifier != nil
        let copy =
            isBackground ? URLSessionConfiguration.default : (self.copy() as? URLSessionConfiguration ?? .default)
        // Requests have them: a session would send them to every host.
        copy.httpAdditionalHeaders = nil
        // What a service answers is of this moment, and tokens are in it. On Linux, Foundation traps when a request is cancelled
        // that a cache is still asked about.
        copy.urlCache = nil
        copy.requestCachePolicy = .reloadIgnoringLocalCacheData
        copy.timeoutIntervalForRequest = URLRequest.noTimeout
        copy.timeoutIntervalForResource = URLRequest.noTimeout
        return copy
    }
}

extension HTTPHeaders {
    fileprivate init(_ head: HTTPURLResponse) {
        self.init()
        for (name, value) in head.allHeaderFields {
            if let name = name as? String { add(name: name, value: "\(value)") }
        }
    }
}
