import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import PowerSyncProtocol
import RunningServiceTestSupport
import ServiceTestSupport
import Testing
import TestSupport

@testable import PowerSyncService

/// Snapshots as the page gets them.
struct WatchedSnapshots {
    private var body: HTTPClientResponse.Body.AsyncIterator
    private var buffer = ByteBuffer()

    /// Begins to watch.
    init(_ scenario: ServiceScenario, token: String? = AdminScenario.token) async throws {
        var request = HTTPClientRequest(url: scenario.address.url + "/dashboard/events")
        if let token { request.headers.add(name: "Authorization", value: "Bearer \(token)") }
        let response = try await HTTPClient.roomy.execute(request, deadline: .distantFuture)
        try #require(response.status == .ok)
        #expect(response.headers.first(name: "Content-Type") == "text/event-stream")
        body = response.body.makeAsyncIterator()
    }

    /// The next snapshot; `nil` at the end.
    mutating func next() async throws -> ServiceSnapshot? {
        while true {
            let text = String(buffer: buffer)
            if let end = text.range(of: "\n\n") {
                let event = text[..<end.lowerBound]
                buffer.moveReaderIndex(forwardBy: event.utf8.count + 2)
                let data = try #require(event.hasPrefix("data: ") ? Data(event.dropFirst(6).utf8) : nil)
                return try JSONDecoder().decode(ServiceSnapshot.self, from: data)
            }
            guard var chunk = try await body.next(isolation: #isolation) else { return nil }
            buffer.writeBuffer(&chunk)
        }
    }

    /// Waits for a snapshot in which something is so.
    mutating func next(where isWanted: (ServiceSnapshot) -> Bool) async throws -> ServiceSnapshot {
        while let snapshot = try await next() {
            if isWanted(snapshot) { return snapshot }
        }
        throw Ended()
    }

    /// The service has ended the stream.
    struct Ended: Error {}
}

extension ServiceScenario {
    /// Asks what the page asks, and returns the `data`.
    func dashboard(_ path: String, body: JSONObject? = nil) async throws -> JSONObject {
        let method = body == nil ? "GET" : "POST"
        let reply = try await send(method, "/dashboard/" + path, token: AdminScenario.token, body: body?.text)
        try #require(reply.status == 200, "\(path): \(reply.body)")
        return try reply.json.object("data")
    }
}

extension HTTPClient {
    /// For many streams at the same time: the shared one opens eight connections to a service.
    static let roomy: HTTPClient = {
        var configuration = Configuration(decompression: .disabled)
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 1000
        return HTTPClient(configuration: configuration)
    }()
}
