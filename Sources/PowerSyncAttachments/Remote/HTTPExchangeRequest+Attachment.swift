import Foundation
import NIOHTTP1
import PowerSyncClient
import PowerSyncHTTP

extension HTTPExchangeRequest {
    /// The request that an app asks for, with its headers; those that the HTTP client makes itself are left out.
    init(_ target: AttachmentHTTPRequest, method: HTTPMethod) {
        self.init(target.method.map(HTTPMethod.init(rawValue:)) ?? method, target.url.absoluteString)
        for (name, value) in target.headers.sorted(by: { $0.key < $1.key })
        where !["content-length", "transfer-encoding", "host"].contains(name.lowercased()) {
            headers.add(name: name, value: value)
        }
        if !headers.contains(name: "User-Agent") { headers.add(name: "User-Agent", value: HTTPTransport.userAgent) }
    }

    /// Adds the `Content-Type` of a file, unless the app has given one; media types come from synced data.
    mutating func addMediaType(_ mediaType: String?) {
        guard
            !headers.contains(name: "Content-Type"), let mediaType, !mediaType.isEmpty,
            mediaType.utf8.allSatisfy({ (0x20...0x7e).contains($0) })
        else { return }
        headers.add(name: "Content-Type", value: mediaType)
    }
}
