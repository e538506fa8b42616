package import NIOCore
package import NIOSSL

/// Sends HTTP requests, each once: nothing is repeated, and no redirect is followed.
///
/// What is known about sync services, storages and backends lives above it; what is known about sockets, below.
package protocol HTTPExchange: AnyObject, Sendable {
    /// What the app adds to each request.
    ///
    /// Whoever makes a request adds it: only there is known which hosts may see it.
    var additionalHeaders: [String: String] { get }

    /// Sends a request.
    ///
    /// - Parameter request: What is sent.
    /// - Returns: The head of the answer, whatever its status, with a body that is read as it arrives.
    /// - Throws: ``HTTPExchangeError``, what reading the body of the request throws, or `CancellationError`. A request that was
    ///   cancelled takes its connection with it.
    func send(_ request: HTTPExchangeRequest) async throws -> HTTPExchangeResponse

    /// The same exchange with other authorities for certificates than those that the system trusts.
    ///
    /// - Parameter configuration: Names the authorities.
    /// - Returns: The exchange; `nil` when this kind always trusts those of the system.
    func trusting(_ configuration: TLSConfiguration) -> (any HTTPExchange)?
}

extension HTTPExchange {
    /// No exchange: this kind trusts the authorities of the system only.
    package func trusting(_ configuration: TLSConfiguration) -> (any HTTPExchange)? { nil }
}

/// The body of an answer, pulled by one task.
///
/// Not sendable: its method runs where its caller runs. Beyond a few network reads nothing is taken from the network before it is asked
/// for. Dropping the body before its end closes the connection.
package protocol HTTPExchangeBody: AnyObject {
    /// Waits for bytes.
    ///
    /// - Returns: What has arrived; `nil` at the end.
    /// - Throws: ``HTTPExchangeError``, or `CancellationError`. After an error there is nothing more.
    nonisolated(nonsending) func next() async throws -> ByteBuffer?
}

extension HTTPExchangeBody {
    /// The whole body.
    ///
    /// - Parameter limit: How many bytes it may have.
    /// - Returns: The bytes.
    /// - Throws: What ``next()`` throws, and ``HTTPExchangeError/Code/tooLong`` for a longer one.
    package nonisolated(nonsending) func collect(upTo limit: Int) async throws -> ByteBuffer {
        var whole = ByteBuffer()
        while let chunk = try await next() {
            guard whole.readableBytes + chunk.readableBytes <= limit else { throw HTTPExchangeError(.tooLong(limit)) }
            whole.writeImmutableBuffer(chunk)
        }
        return whole
    }

    /// The beginning of a body that tells of an error: what cannot be read is left out.
    ///
    /// - Parameter limit: After how many bytes reading ends. There may be some more.
    /// - Returns: The bytes.
    package nonisolated(nonsending) func beginning(_ limit: Int) async -> ByteBuffer {
        var beginning = ByteBuffer()
        do {
            while beginning.readableBytes < limit, let chunk = try await next() {
                beginning.writeImmutableBuffer(chunk)
            }
        } catch {
            // The status is what counts.
        }
        return beginning
    }
}
