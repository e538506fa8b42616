import NIOCore
import NIOHTTP1
import PowerSyncHTTP

/// Reaches the backend over the simulated network, as an HTTP client.
final class SimulatedExchange: HTTPExchange {
    private let network: SimulatedNetwork
    private let link: SimulatedLink
    private let backend: SimulatedBackend

    init(_ network: SimulatedNetwork, over link: SimulatedLink, to backend: SimulatedBackend) {
        (self.network, self.link, self.backend) = (network, link, backend)
    }

    var additionalHeaders: [String: String] { [:] }

    func send(_ request: HTTPExchangeRequest) async throws -> HTTPExchangeResponse {
        do {
            let (status, body) = try await network.call(over: link, to: { [backend] in backend.process }) { [backend] in
                try await backend.answer(request)
            }
            return HTTPExchangeResponse(status: status, headers: [:], decompressed: nil, body: WholeBody(body))
        } catch let error as SimulatedNetworkError {
            throw HTTPExchangeError(.connection, underlyingError: error)
        }
    }
}

/// A body that has arrived.
private final class WholeBody: HTTPExchangeBody {
    private var bytes: ByteBuffer?

    init(_ bytes: ByteBuffer) { self.bytes = bytes }

    func next() async throws -> ByteBuffer? {
        defer { bytes = nil }
        return bytes
    }
}
