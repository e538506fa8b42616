import Foundation
import HTTPTypes
import Hummingbird

/// A tus server for large photos: `OPTIONS` and `POST photos/tus`; `HEAD`, `PATCH` and `DELETE photos/tus/<uuid>.jpg`.
///
/// The metadata `filename` of an upload says which photo it is, so its URL is always the same: a client that has lost it, or the answer
/// that the photo is there, finds it again.
struct TusRoutes {
    /// The largest photo that is taken: 1 GiB.
    private static let limit = 1 << 30
    /// The largest part that is taken: 8 MiB.
    private static let partLimit = 8 << 20

    let photos: PhotoFolder
    let uploads: TusUploads

    func add(to router: Router<BasicRequestContext>) {
        router.on("photos/tus", method: .options) { _, _ in
            var headers = Self.headers
            headers[.tusVersion] = "1.0.0"
            headers[.tusExtension] = "creation,checksum,termination"
            headers[.tusChecksumAlgorithm] = "sha256"
            headers[.tusMaxSize] = "\(Self.limit)"
            return Response(status: .noContent, headers: headers)
        }
        router.post("photos/tus") { request, _ in
            guard let length = request.headers[.uploadLength].flatMap({ Int($0) }), length >= 0 else {
                throw HTTPError(.badRequest)
            }
            guard length <= Self.limit else { throw HTTPError(.contentTooLarge) }
            guard let photo = Self.metadata(request.headers[.uploadMetadata] ?? "")["filename"] else {
                throw HTTPError(.badRequest, message: "an upload has a filename")
            }
            let name = try photos.name(photo, of: try await photos.user(request))
            let path = photos.folder.appending(path: name).path(percentEncoded: false)
            try photos.makeFolder(of: path)
            try await uploads.begin(path, length: length)
            var headers = Self.headers
            headers[.location] = "/photos/tus/\(photo)"
            return Response(status: .created, headers: headers)
        }
        router.head("photos/tus/:name") { request, context in
            guard let progress = await uploads.progress(of: try await photos.path(request, context)) else {
                throw HTTPError(.notFound)
            }
            var headers = Self.headers
            headers[.uploadOffset] = "\(progress.offset)"
            headers[.uploadLength] = "\(progress.length)"
            headers[.cacheControl] = "no-store"
            return Response(status: .ok, headers: headers)
        }
        router.patch("photos/tus/:name") { request, context in
            let path = try await photos.path(request, context)
            guard request.headers[.contentType] == "application/offset+octet-stream" else {
                throw HTTPError(.unsupportedMediaType)
            }
            guard let offset = request.headers[.uploadOffset].flatMap({ Int($0) }) else { throw HTTPError(.badRequest) }
            // `sha256 n4bQgYhM…`
            let checksum = request.headers[.uploadChecksum]?.split(separator: " ").map(String.init)
            guard checksum == nil || checksum?.count == 2 && checksum?[0] == "sha256" else {
                throw HTTPError(.badRequest)
            }
            let part = Data(try await request.body.collect(upTo: Self.partLimit).readableBytesView)
            var headers = Self.headers
            switch try await uploads.append(part, at: offset, of: path, digest: checksum?[1]) {
            case .stored(let progress):
                headers[.uploadOffset] = "\(progress.offset)"
                return Response(status: .noContent, headers: headers)
            case .unknown: return Response(status: .notFound, headers: headers)
            case .elsewhere: return Response(status: .conflict, headers: headers)
            case .damaged:
                return Response(status: .init(code: 460, reasonPhrase: "Checksum Mismatch"), headers: headers)
            }
        }
        router.delete("photos/tus/:name") { request, context in
            try await uploads.remove(try await photos.path(request, context))
            return Response(status: .noContent, headers: Self.headers)
        }
    }

    private static var headers: HTTPFields { [.tusResumable: "1.0.0"] }

    /// `filename NWMuanBn,id NWM=` as pairs.
    private static func metadata(_ header: String) -> [String: String] {
        var pairs: [String: String] = [:]
        for pair in header.split(separator: ",") {
            let words = pair.split(separator: " ")
            guard let name = words.first, let value = Data(base64Encoded: String(words.last ?? "")) else { continue }
            pairs[String(name)] = String(decoding: value, as: UTF8.self)
        }
        return pairs
    }
}

extension HTTPField.Name {
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let tusResumable = HTTPField.Name("Tus-Resumable")!
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let tusVersion = HTTPField.Name("Tus-Version")!
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let tusExtension = HTTPField.Name("Tus-Extension")!
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let tusChecksumAlgorithm = HTTPField.Name("Tus-Checksum-Algorithm")!
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let tusMaxSize = HTTPField.Name("Tus-Max-Size")!
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let uploadLength = HTTPField.Name("Upload-Length")!
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let uploadOffset = HTTPField.Name("Upload-Offset")!
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let uploadMetadata = HTTPField.Name("Upload-Metadata")!
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let uploadChecksum = HTTPField.Name("Upload-Checksum")!
}
