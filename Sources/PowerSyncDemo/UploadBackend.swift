import HTTPTypes
import Hummingbird
import NIOCore
import PowerSyncBackend

/// The part of the app's backend that takes uploads, as an app over a database of its own has one: `POST /upload`.
struct UploadBackend: Sendable {
    /// The longest body, in bytes: 16 MiB.
    private static let maximumBytes = 16 << 20

    /// Where writes go.
    let source: any UploadingDemoSource
    /// Checks tokens.
    let signer: SyncTokenSigner

    /// Runs the backend for as long as a closure.
    ///
    /// - Parameters:
    ///   - port: Where it listens; 0 for any free port.
    ///   - body: Gets its base URL, without a slash at the end.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws, or ``DemoFailure``.
    func whileRunning<Result: Sendable>(
        on port: Int,
        _ body: @escaping @Sendable (_ url: String) async throws -> Result
    ) async throws -> Result {
        try await LoopbackServer(name: "the backend for uploads", port: port, router: makeRouter()).whileRunning(body)
    }

    private func makeRouter() -> Router<BasicRequestContext> {
        let router = Router()
        router.post("upload") { request, _ in
            guard (try? await signer.verify(authorization: request.headers[.authorization])) != nil else {
                throw HTTPError(.unauthorized)
            }
            var request = request
            let body = try await request.collectBody(upTo: Self.maximumBytes)
            let upload: UploadRequest
            do {
                upload = try UploadRequest(json: body.readableBytesView)
            } catch let error as UploadFormatError {
                throw HTTPError(.badRequest, message: error.message)
            }
            guard upload.entries.allSatisfy({ DemoApp.syncedTables.contains($0.table) }) else {
                throw HTTPError(.badRequest, message: "there is no such table")
            }
            try await source.apply(upload)
            let response = UploadResponse(appliedThrough: upload.entries.last?.operationID)
            return Response(
                status: .ok,
                headers: [.contentType: "application/json"],
                body: ResponseBody(byteBuffer: ByteBuffer(bytes: response.json))
            )
        }
        return router
    }
}
