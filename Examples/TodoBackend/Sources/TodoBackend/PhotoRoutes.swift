import Foundation
import Hummingbird
import PowerSyncBackend

/// The files beside the rows: `PUT`, `GET` and `DELETE photos/<uuid>.jpg`.
///
/// A photo is never changed: another picture is another photo.
struct PhotoRoutes {
    let photos: PhotoFolder

    func add(to router: Router<BasicRequestContext>) {
        let files = FileIO()
        router.put("photos/:name") { request, context in
            // Beside the photo first: a transfer that is cut off leaves no half of one.
            let target = try await photos.path(request, context)
            let part = target + ".\(UUID().uuidString)"
            defer { try? FileManager.default.removeItem(atPath: part) }
            try photos.makeFolder(of: target)
            try await files.writeFile(contents: request.body, path: part, context: context)
            if !FileManager.default.fileExists(atPath: target) {
                try FileManager.default.moveItem(atPath: part, toPath: target)
            }
            return HTTPResponse.Status.created
        }
        router.get("photos/:name") { request, context in
            let body = try await files.loadFile(path: try await photos.path(request, context), context: context)
            return Response(status: .ok, headers: [.contentType: "image/jpeg"], body: body)
        }
        router.delete("photos/:name") { request, context in
            let target = try await photos.path(request, context)
            guard FileManager.default.fileExists(atPath: target) else { throw HTTPError(.notFound) }
            try FileManager.default.removeItem(atPath: target)
            return HTTPResponse.Status.noContent
        }
    }
}
