import Foundation
import HTTPTypes
import Hummingbird
import PowerSync
import PowerSyncS3

/// Photos in a bucket of S3, over URLs that are signed here: `POST photos/sign` for whole photos, `POST photos/parts` for parts of them.
///
/// The app holds no key of the bucket. Each user has a folder in it.
struct StorageRoutes {
    let photos: PhotoFolder
    let bucket: S3Bucket
    let credentials: S3Credentials

    func add(to router: Router<BasicRequestContext>) {
        router.post("photos/sign") { request, context -> Response in
            let wanted = try await request.decode(as: SignedURLRequest.self, context: context)
            let name = try photos.name(wanted.filename, of: try await photos.user(request))
            let method =
                switch wanted.operation {
                case .upload: "PUT"
                case .download: "GET"
                case .delete: "DELETE"
                }
            let url = try S3Signer(bucket: bucket, credentials: credentials).presignedURL(method: method, key: name)
            return try Response(json: ["url": url.absoluteString])
        }
        router.post("photos/parts") { request, context -> Response in
            let wanted = try await request.decode(as: AttachmentPartsRequest.self, context: context)
            let storage = try await storage(for: wanted.filename, request)
            do {
                let answer = try await wanted.answer(from: storage)
                return try Response(json: answer)
            } catch AttachmentStorageError.notFound {
                throw HTTPError(.notFound)
            } catch AttachmentStorageError.alreadyExists {
                throw HTTPError(.conflict)
            } catch PowerSyncAttachmentError.generalError(let message) {
                throw HTTPError(.badRequest, message: message)
            }
        }
    }

    /// Removes what apps have begun to upload a week ago and not finished.
    ///
    /// The storage says its time meanwhile, so that URLs are signed with it where the clock here is off.
    func removeOldUploads() async throws {
        try await S3PartsStorage(bucket: bucket, credentials: credentials)
            .abortUploads(olderThan: Date(timeIntervalSinceNow: -7 * 86_400))
    }

    /// Where a user's photo goes.
    ///
    /// - Throws: An error when the name is not that of a photo, or nobody has signed in.
    private func storage(for photo: String, _ request: Request) async throws -> S3PartsStorage {
        let name = try photos.name(photo, of: try await photos.user(request))
        return S3PartsStorage(
            bucket: bucket,
            credentials: credentials,
            keyPrefix: String(name.dropLast(photo.count))
        )
    }
}

extension Response {
    /// An answer with JSON.
    fileprivate init(json value: some Encodable) throws {
        self.init(
            status: .ok,
            headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: try JSONEncoder().encode(value)))
        )
    }
}
