import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import PowerSync
import PowerSyncBackend

/// The part of the app's backend that is about photos.
///
/// `POST /photos/sign` checks who asks for what, and answers with a signed URL. Unless the photos are in an S3 storage, the URL leads
/// to `/photos/objects/<name>`, which takes, gives and deletes files of a folder.
struct PhotoBackend: Sendable {
    private let storage: PhotoStorage
    private let signer: SyncTokenSigner
    private let source: any DemoSource

    /// Creates the backend.
    ///
    /// - Parameters:
    ///   - storage: Where the photos are.
    ///   - signer: Checks tokens.
    ///   - source: The app's data, which says whose photo it is.
    init(storage: PhotoStorage, signer: SyncTokenSigner, source: any DemoSource) {
        self.storage = storage
        self.signer = signer
        self.source = source
    }

    /// Runs the backend for as long as a body runs.
    ///
    /// - Parameter body: Gets the base URL.
    /// - Returns: What the body returns.
    /// - Throws: What the body throws, or ``DemoFailure``.
    func whileRunning<Result: Sendable>(
        _ body: @escaping @Sendable (URL) async throws -> Result
    ) async throws -> Result {
        try await LoopbackServer(name: "the backend of the photos", router: makeRouter()).whileRunning { url in
            guard let url = URL(string: url) else { throw DemoFailure("\(url) is not a URL") }
            return try await body(url)
        }
    }

    private func makeRouter() -> Router<BasicRequestContext> {
        let router = Router()
        let objects = FileIO()
        router.post("photos/sign") { request, context in
            let asked = try await request.decode(as: SignedURLRequest.self, context: context)
            try await authorize(asked, request.headers)
            let host = request.head.authority ?? "127.0.0.1"
            let signed = try storage.sign(asked.operation, asked.filename, backend: "http://\(host)")
            return Response(
                status: .ok,
                headers: [.contentType: "application/json"],
                body: ResponseBody(byteBuffer: ByteBuffer(bytes: try JSONEncoder().encode(signed)))
            )
        }
        router.put("photos/objects/:name") { request, context in
            try await objects.writeFile(
                contents: request.body,
                path: try path(of: request, context),
                context: context
            )
            return HTTPResponse.Status.created
        }
        router.get("photos/objects/:name") { request, context in
            let body = try await objects.loadFile(path: try path(of: request, context), context: context)
            return Response(status: .ok, body: body)
        }
        router.delete("photos/objects/:name") { request, context in
            let path = try path(of: request, context)
            guard FileManager.default.fileExists(atPath: path) else { throw HTTPError(.notFound) }
            try FileManager.default.removeItem(atPath: path)
            return HTTPResponse.Status.noContent
        }
        return router
    }

    /// Lets users upload, and lets them read and delete photos of lists that are theirs.
    private func authorize(_ asked: SignedURLRequest, _ headers: HTTPFields) async throws {
        guard let user = try? await signer.verify(authorization: headers[.authorization]) else {
            throw HTTPError(.unauthorized)
        }
        guard asked.filename == "\(asked.id).jpg", UUID(uuidString: asked.id) != nil else {
            throw HTTPError(.badRequest, message: "a photo is called <uuid>.jpg")
        }
        guard try await source.mayUse(photo: asked.id, user: user.id) else { throw HTTPError(.notFound) }
    }

    /// The file that a signed URL leads to.
    private func path(of request: Request, _ context: BasicRequestContext) throws -> String {
        let name = try context.parameters.require("name")
        let query = request.uri.queryParameters
        guard case .folder(let folder, _) = storage,
            storage.allows(
                request.method.rawValue,
                name,
                expires: query["expires"].flatMap { Int($0) },
                signature: query["signature"].map(String.init)
            )
        else { throw HTTPError(.forbidden) }
        return folder.appending(path: name).path(percentEncoded: false)
    }
}
