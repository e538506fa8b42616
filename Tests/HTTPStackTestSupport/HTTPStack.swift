package import PowerSync
package import Testing

import AsyncHTTPClient
import NIOCore
import PowerSyncHTTP
import PowerSyncNIO
import PowerSyncURLSession

#if canImport(FoundationNetworking)
import FoundationNetworking
#else
import Foundation
#endif

/// What sends the requests of a test.
package enum HTTPStack: CaseIterable, CustomTestStringConvertible, Sendable {
    case nio, urlSession

    /// That of the test that runs, in suites that run on each.
    @TaskLocal package static var current = HTTPStack.nio

    package var testDescription: String { "\(self)" }

    /// The client of the process.
    package var client: PowerSyncHTTPClient {
        switch self {
        case .nio: .nio
        case .urlSession: .urlSession
        }
    }

    /// A sync transport on the client of the process.
    package var transport: HTTPTransport { HTTPTransport(client: client) }

    /// Runs a body with a client of its own.
    ///
    /// - Parameters:
    ///   - readTimeout: How long it waits for the next bytes of a file, in whole seconds.
    ///   - body: What to run.
    /// - Throws: What `body` throws.
    package func withClient(
        readTimeout: Duration? = nil,
        _ body: (PowerSyncHTTPClient) async throws -> Void
    ) async throws {
        let readTimeout = readTimeout ?? HTTPExchangeRequest.fileIdleTimeout
        guard self == .nio else {
            return try await body(PowerSyncHTTPClient(URLSessionExchange(.default, fileIdleTimeout: readTimeout)))
        }
        let client = HTTPClient(configuration: NIOExchange.fileConfiguration(idleTimeout: readTimeout))
        do {
            try await body(PowerSyncHTTPClient(NIOExchange(calls: client, files: client)))
        } catch {
            try? await client.shutdown()
            throw error
        }
        try await client.shutdown()
    }
}

/// Runs each test of a suite on one stack after the other.
package struct OnEachHTTPStack: SuiteTrait, TestTrait, TestScoping {
    package let isRecursive = true

    package func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        for stack in HTTPStack.allCases {
            try await HTTPStack.$current.withValue(stack) { try await function() }
        }
    }
}

extension Trait where Self == OnEachHTTPStack {
    /// Runs each test of a suite on one stack after the other.
    package static var onEachHTTPStack: Self { Self() }
}
