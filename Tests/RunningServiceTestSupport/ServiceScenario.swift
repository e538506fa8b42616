package import AsyncHTTPClient
package import Foundation
package import HTTPConnections
package import Logging
package import NIOCore
import NIOHTTP1
package import PowerSyncProtocol
package import PowerSyncService
package import PowerSyncServiceCore
package import ServiceTestSupport
package import TestSupport
import Testing

/// A whole service on a loopback port, with temporary files, and what a client and a back end do with it.
package struct ServiceScenario: Sendable {
    /// Streams with two priorities; `lists` belong to a user, `todos` to the lists of a user.
    package static let syncConfig = """
        config: {edition: 3}
        streams:
          lists:
            auto_subscribe: true
            priority: 1
            query: SELECT id, name FROM lists WHERE owner_id = auth.user_id()
          todos:
            auto_subscribe: true
            query: SELECT id, list_id, title FROM todos WHERE list_id IN (SELECT id FROM lists WHERE owner_id = auth.user_id())
          settings:
            query: SELECT id, value FROM settings
        """
    package static let tables = [
        "CREATE TABLE lists (id TEXT PRIMARY KEY, owner_id TEXT, name TEXT)",
        "CREATE TABLE todos (id TEXT PRIMARY KEY, list_id TEXT, title TEXT)",
        "CREATE TABLE settings (id TEXT PRIMARY KEY, value TEXT)",
    ]
    package static let secret = Array("interop-test-key-0123456789abcdef".utf8)
    private static let key = ClientKey.hs256(secret: secret, id: "test-1")

    package let address: BoundAddress
    package let service: SyncService

    /// Uses a service that runs.
    package init(address: BoundAddress, service: SyncService) {
        self.address = address
        self.service = service
    }

    /// A configuration for a folder.
    package static func configuration(in folder: TemporaryFolder) -> ServiceConfiguration {
        var configuration = ServiceConfiguration(
            source: .embedded(path: folder.path("source.db"), statements: tables),
            storage: .sqlite(path: folder.path("buckets.db")),
            syncConfig: .content(syncConfig)
        )
        configuration.host = "127.0.0.1"
        configuration.port = 0
        configuration.development.writeEndpoint = true
        configuration.authentication.keys = [key]
        configuration.authentication.audience = ["powersync-dev"]
        return configuration
    }

    /// A log that nobody reads; failures show up in the results.
    package static var logger: Logger {
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        return logger
    }

    /// Runs a service for the duration of `body`.
    package static func run(
        in folder: TemporaryFolder? = nil,
        timing: Timing = Timing(),
        log: CollectedLog? = nil,
        connectionLimits: HTTPConnectionLimits = HTTPConnectionLimits(),
        configure: (inout ServiceConfiguration) -> Void = { _ in },
        _ body: (ServiceScenario) async throws -> Void
    ) async throws {
        let folder = try folder ?? TemporaryFolder()
        var configuration = configuration(in: folder)
        configure(&configuration)
        let service = try SyncService(
            configuration: configuration,
            logger: log?.logger ?? logger,
            timing: timing,
            connectionLimits: connectionLimits
        )
        try await service.whileRunning { running in
            try await body(ServiceScenario(address: running.address, service: running.service))
        }
        withExtendedLifetime(folder) {}
    }

    // MARK: Tokens

    /// A token for a user, valid for an hour from `now`.
    package func token(
        _ userID: String = "u1",
        lifetime: Duration = .seconds(3600),
        now: Date = Date()
    ) throws -> String {
        try service.configuration.makeDevelopmentToken(userID: userID, lifetime: lifetime, now: now)
    }

    // MARK: Requests

    /// A complete response.
    package struct Reply {
        package var status: Int
        package var headers: [String: String]
        package var body: String

        /// The body as an object.
        package var json: JSONObject { get throws { try JSONObject(parsing: body) } }

        /// A member of the error envelope.
        package func error(_ member: String) throws -> String? {
            guard case .object(let error) = try json["error"], case .string(let text) = error[member] else {
                return nil
            }
            return text
        }
    }

    /// Sends a request and reads the whole response.
    package func send(
        _ method: String,
        _ path: String,
        token: String? = nil,
        headers: [String: String] = [:],
        body: String? = nil
    ) async throws -> Reply {
        let response = try await execute(method, path, token: token, headers: headers, body: body)
        let bytes = try await response.body.collect(upTo: 64 * 1024 * 1024)
        return Reply(
            status: Int(response.status.code),
            headers: Dictionary(response.headers.map { ($0.name.lowercased(), $0.value) }) { "\($0), \($1)" },
            body: String(buffer: bytes)
        )
    }

    /// Sends a request and closes the connection after the head of the response.
    package func status(
        _ method: String,
        _ path: String,
        token: String? = nil,
        headers: [String: String] = [:],
        body: String? = nil
    ) async throws -> Int {
        Int(try await execute(method, path, token: token, headers: headers, body: body).status.code)
    }

    private func execute(
        _ method: String,
        _ path: String,
        token: String?,
        headers: [String: String],
        body: String?,
        client: HTTPClient = .plain
    ) async throws -> HTTPClientResponse {
        var request = HTTPClientRequest(url: address.url + path)
        request.method = .RAW(value: method)
        if let token { request.headers.add(name: "Authorization", value: "Token \(token)") }
        if let body {
            request.body = .bytes(ByteBuffer(string: body))
            if headers["Content-Type"] == nil { request.headers.add(name: "Content-Type", value: "application/json") }
        }
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        return try await client.execute(request, deadline: .distantFuture)
    }

    // MARK: Back end

    /// Writes rows into the source, in one transaction.
    package func write(_ writes: JSONObject...) async throws {
        try await write(writes)
    }

    /// Writes rows into the source, in one transaction.
    package func write(_ writes: [JSONObject]) async throws {
        let body: JSONObject = ["data": .array(writes.map { .object($0) })]
        let reply = try await send("POST", "/dev/write", token: try token(), body: body.text)
        #expect(reply.status == 200, "\(reply.body)")
    }

    package static func put(_ table: String, _ id: String, _ data: JSONObject) -> JSONObject {
        ["op": "PUT", "type": .string(table), "id": .string(id), "data": .object(data)]
    }

    package static func delete(_ table: String, _ id: String) -> JSONObject {
        ["op": "DELETE", "type": .string(table), "id": .string(id)]
    }

    /// Waits until everything written before is in a checkpoint.
    package func settle(now: Date = Date()) async throws {
        let token = try token("settle", now: now)
        let reply = try await send("GET", "/write-checkpoint2.json?client_id=settle", token: token)
        let expected = try #require(try reply.json.object("data").text("write_checkpoint").flatMap { Int($0) })
        var stream = try await stream(token, ["client_id": "settle"])
        while let line = try await stream.next() {
            for kind in ["checkpoint", "checkpoint_diff"] {
                if let seen = line.object(kind).text("write_checkpoint").flatMap({ Int($0) }), seen >= expected {
                    return
                }
            }
        }
        Issue.record("the stream ended")
    }

    // MARK: Streams

    /// Opens a stream; the body asks for string rows unless it says something else.
    package func stream(
        _ token: String,
        _ body: JSONObject = ["raw_data": true],
        accept: String? = nil,
        acceptEncoding: String? = nil,
        query: String = "",
        client: HTTPClient = .plain
    ) async throws -> StreamReader {
        var headers: [String: String] = [:]
        headers["Accept"] = accept
        headers["Accept-Encoding"] = acceptEncoding
        let response = try await execute(
            "POST",
            "/sync/stream" + query,
            token: token,
            headers: headers,
            body: body.text,
            client: client
        )
        if response.status != .ok {
            let body = String(buffer: try await response.body.collect(upTo: 1024 * 1024))
            try #require(response.status == .ok, "\(body)")
        }
        return StreamReader(response)
    }
}

extension ServiceScenario {
    /// Opens a stream with string rows; `nil` when the service refuses it.
    package func streamIfPossible(_ token: String) async throws -> StreamReader? {
        let body = #"{"raw_data":true}"#
        let response = try await execute("POST", "/sync/stream", token: token, headers: [:], body: body)
        return response.status == .ok ? StreamReader(response) : nil
    }
}

/// The lines of a response, as they come.
package struct StreamReader {
    package let contentType: String?
    package let contentEncoding: String?
    package private(set) var byteCount = 0
    private var body: HTTPClientResponse.Body.AsyncIterator
    private var buffer = ByteBuffer()

    package init(_ response: HTTPClientResponse) {
        contentType = response.headers.first(name: "Content-Type")
        contentEncoding = response.headers.first(name: "Content-Encoding")
        body = response.body.makeAsyncIterator()
    }

    /// The next bytes of a BSON stream, or of what is left.
    package mutating func chunk() async throws -> ByteBuffer? {
        let chunk = try await body.next(isolation: #isolation)
        byteCount += chunk?.readableBytes ?? 0
        return chunk
    }

    /// The next NDJSON line; `nil` at the normal end.
    package mutating func next() async throws -> JSONObject? {
        while true {
            if let length = buffer.readableBytesView.firstIndex(of: UInt8(ascii: "\n")).map({ $0 - buffer.readerIndex }
            ),
                let line = buffer.readSlice(length: length)
            {
                buffer.moveReaderIndex(forwardBy: 1)
                buffer.discardReadBytes()
                return try JSONObject(parsing: line)
            }
            guard var chunk = try await chunk() else { return nil }
            buffer.writeBuffer(&chunk)
        }
    }

    /// The next line in short form; see `JSONObject.summary`.
    package mutating func summary() async throws -> String? {
        try await next()?.summary
    }

    /// The next lines in short form, up to and including a `complete`.
    package mutating func untilComplete() async throws -> [String] {
        var lines: [String] = []
        while let line = try await summary() {
            lines.append(line)
            if line.hasPrefix("complete") { break }
        }
        return lines
    }
}

extension HTTPClient {
    /// Asks for no compression unless a request does; lives as long as the process.
    package static let plain = HTTPClient(configuration: Configuration(decompression: .disabled))
}
