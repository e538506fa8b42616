import Foundation
import Hummingbird
import PowerSyncBackend

/// Where photos are: a folder for each user, for the user whose token for the sync service is sent along.
struct PhotoFolder {
    let folder: URL
    let signer: SyncTokenSigner

    /// The user of a request.
    func user(_ request: Request) async throws -> BackendUser {
        guard let user = try? await signer.verify(authorization: request.headers[.authorization]) else {
            throw HTTPError(.unauthorized)
        }
        return user
    }

    /// The path of a user's photo, below the folder.
    func name(_ photo: String, of user: BackendUser) throws -> String {
        guard photo.hasSuffix(".jpg"), UUID(uuidString: String(photo.dropLast(4))) != nil else {
            throw HTTPError(.badRequest, message: "a photo is called <uuid>.jpg")
        }
        // A name may have any characters; a folder may not.
        let owner = Data(user.id.utf8).map { String($0, radix: 16) }.joined(separator: "-")
        return "\(owner)/\(photo)"
    }

    /// The file that a request is about.
    func path(_ request: Request, _ context: BasicRequestContext) async throws -> String {
        let name = try name(context.parameters.require("name"), of: try await user(request))
        return folder.appending(path: name).path(percentEncoded: false)
    }

    /// Creates the folder of a file.
    func makeFolder(of path: String) throws {
        let parent = URL(filePath: path).deletingLastPathComponent()
        try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
    }
}
