import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import Testing

@testable import PowerSyncS3

/// The storage that `scripts/with-s3` starts.
enum ObjectStorage {
    static let endpoint = ProcessInfo.processInfo.environment["POWERSYNC_S3_ENDPOINT"].flatMap { URL(string: $0) }
}

/// A bucket for one test.
struct TestBucket {
    static let credentials = S3Credentials(accessKeyID: "test", secretAccessKey: "test")

    let signer: S3Signer

    /// Creates the bucket in the storage.
    static func make() async throws -> TestBucket {
        let endpoint = try #require(ObjectStorage.endpoint)
        let name = "bucket-\(UUID().uuidString.lowercased())"
        let bucket = S3Bucket(name: name, region: "us-east-1", endpoint: endpoint, addressing: .path)
        let made = TestBucket(signer: S3Signer(bucket: bucket, credentials: credentials))
        #expect(try await made.request("PUT", "").0 == .ok)
        return made
    }

    /// Talks to the storage without a transport.
    func request(
        _ method: String,
        _ key: String,
        query: [String: String] = [:],
        body: Data = Data()
    ) async throws -> (HTTPResponseStatus, HTTPHeaders, Data) {
        var request = HTTPClientRequest(url: try signer.url(key: key, query: query).absoluteString)
        request.method = HTTPMethod(rawValue: method)
        for (name, value) in signer.signedHeaders(method: method, key: key, query: query, payloadSHA256: body.sha256) {
            request.headers.add(name: name, value: value)
        }
        if !body.isEmpty { request.body = .bytes(ByteBuffer(bytes: body)) }
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(30))
        let content = try await response.body.collect(upTo: 64 * 1024 * 1024)
        return (response.status, response.headers, Data(content.readableBytesView))
    }
}
