import Foundation
import Hummingbird
import PowerSyncBackend

/// The files beside the rows: `PUT`, `GET` and `DELETE photos/<uuid>.jpg`, for the user whose token for the sync service is sent along.
///
/// Each user has a folder. A photo is never changed: another picture is another photo.
struct PhotoRoutes {
    let folder: URL
    let signer: SyncTokenSigner

    func add(to router: Router<BasicRequestContext>) {
        let files = FileIO()
        router.put("photos/:name") { request, context in
            // Beside the photo first: a transfer that is cut off leaves no half of one.
            let target = try await path(request, context)
            let part = target + ".\(UUID().uuidString)"
            defer { try? FileManager.default.removeItem(atPath: part) }
            let parent = URL(filePath: target).deletingLastPathComponent()
            try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
            try await files.writeFile(contents: request.body, path: part, context: context)
            if !FileManager.default.fileExists(atPath: target) {
                try FileManager.default.moveItem(atPath: part, toPath: target)
            }
            return HTTPResponse.Status.created
        }
        router.get("photos/:name") { request, context in
            let body = try await files.loadFile(path: try await path(request, context), context: context)
            return Response(status: .ok, headers: [.contentType: "image/jpeg"], body: body)
        }
        router.delete("photos/:name") { request, context in
            let target = try await path(request, context)
            guard FileManager.default.fileExists(atPath: target) else { throw HTTPError(.notFound) }
            try FileManager.default.removeItem(atPath: target)
            return HTTPResponse.Status.noContent
        }
    }

    /// The file that a request is about.
    private func path(_ request: Request, _ context: BasicRequestContext) async throws -> String {
        guard let user = try? await signer.verify(authorization: request.headers[.authorization]) else {
            throw HTTPError(.unauthorized)
        }
        let name = try context.parameters.require("name")
        guard name.hasSuffix(".jpg"), UUID(uuidString: String(name.dropLast(4))) != nil else {
            throw HTTPError(.badRequest, message: "a photo is called <uuid>.jpg")
        }
        // A name may have any characters; a folder may not.
        let owner = Data(user.id.utf8).map { String($0, radix: 16) }.joined(separator: "-")
        return folder.appending(path: "\(owner)/\(name)").path(percentEncoded: false)
    }
}
