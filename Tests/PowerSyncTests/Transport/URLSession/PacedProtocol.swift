import Foundation
import NIOConcurrencyHelpers
import PowerSyncTesting

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Answers requests to `http://paced.test` in a session, with the bytes that a test delivers, and knows when it is stopped.
///
/// A session stops and starts its protocols when their tasks are suspended and resumed, on every platform.
final class PacedProtocol: URLProtocol {
    /// Passes a protocol to the test.
    ///
    /// Unchecked, for protocols are not sendable; this one has no state of its own, and its client is the
    /// session, which may be called from anywhere.
    struct Instance: @unchecked Sendable {
        var value: PacedProtocol
    }

    /// What the only request of a test was told.
    struct State: Sendable {
        var isLoading = false
        var starts = 0
        var instance: Instance?
    }

    static let state = NIOLockedValueBox(State())
    static let changes = Signal()

    override class func canInit(with request: URLRequest) -> Bool { request.url?.host == "paced.test" }

    override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

    override func startLoading() {
        let isFirst = Self.state.withLockedValue { state in
            state.isLoading = true
            state.starts += 1
            state.instance = Instance(value: self)
            return state.starts == 1
        }
        if isFirst, let url = request.url {
            let head = HTTPURLResponse(
                url: url,
                statusCode: 200,
                httpVersion: "HTTP/1.1",
                headerFields: ["Content-Type": "application/x-ndjson"]
            )
            if let head { client?.urlProtocol(self, didReceive: head, cacheStoragePolicy: .notAllowed) }
        }
        Self.changes.fire()
    }

    override func stopLoading() {
        Self.state.withLockedValue { $0.isLoading = false }
        Self.changes.fire()
    }

    static func deliver(_ data: Data) {
        guard let instance = state.withLockedValue({ $0.instance })?.value else { return }
        instance.client?.urlProtocol(instance, didLoad: data)
    }

    static func finish() {
        guard let instance = state.withLockedValue({ $0.instance })?.value else { return }
        instance.client?.urlProtocolDidFinishLoading(instance)
    }

    static func waitUntil(_ condition: @Sendable (State) -> Bool) async throws {
        try await changes.wait { condition(state.withLockedValue { $0 }) ? () : nil }
    }
}
