import Foundation
import Testing

@testable import PowerSyncS3

@Suite struct S3SignerTests {
    @Test func endpointMayBeAnAddressOfIPv6() throws {
        let endpoint = try #require(URL(string: "http://[::1]:9000/base"))
        let bucket = S3Bucket(name: "photos", region: "us-east-1", endpoint: endpoint, addressing: .path)
        #expect(bucket.host == "[::1]:9000")
        let credentials = S3Credentials(accessKeyID: "a", secretAccessKey: "b")
        let url = try S3Signer(bucket: bucket, credentials: credentials).url(key: "1.jpg")
        #expect(url.absoluteString == "http://[::1]:9000/base/photos/1.jpg")
    }

    /// The examples of "Authenticating Requests (AWS Signature Version 4)" in the Amazon S3 API Reference.
    @Suite struct PublishedExamples {
        private let signer: S3Signer

        init() throws {
            let endpoint = try #require(URL(string: "https://s3.amazonaws.com"))
            let date = try Date("2013-05-24T00:00:00Z", strategy: .iso8601)
            signer = S3Signer(
                bucket: S3Bucket(name: "examplebucket", region: "us-east-1", endpoint: endpoint),
                credentials: S3Credentials(
                    accessKeyID: "AKIAIOSFODNN7EXAMPLE",
                    secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
                ),
                now: { date }
            )
        }

        private func expect(_ headers: [String: String], names: String, signature: String) {
            let expected =
                "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
                + "SignedHeaders=\(names),Signature=\(signature)"
            #expect(headers["Authorization"] == expected)
            #expect(headers["x-amz-date"] == "20130524T000000Z")
        }

        @Test func getOfAnObject() {
            expect(
                signer.signedHeaders(
                    method: "GET",
                    key: "test.txt",
                    headers: ["Range": "bytes=0-9"],
                    payloadSHA256: Data().sha256
                ),
                names: "host;range;x-amz-content-sha256;x-amz-date",
                signature: "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
            )
        }

        @Test func putOfAnObject() {
            expect(
                signer.signedHeaders(
                    method: "PUT",
                    key: "test$file.text",
                    headers: ["Date": "Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class": "REDUCED_REDUNDANCY"],
                    payloadSHA256: Data("Welcome to Amazon S3.".utf8).sha256
                ),
                names: "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
                signature: "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"
            )
        }

        @Test func getOfTheLifecycleOfABucket() {
            expect(
                signer.signedHeaders(method: "GET", key: "", query: ["lifecycle": ""], payloadSHA256: Data().sha256),
                names: "host;x-amz-content-sha256;x-amz-date",
                signature: "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"
            )
        }

        @Test func getOfTheListOfABucket() {
            expect(
                signer.signedHeaders(
                    method: "GET",
                    key: "",
                    query: ["max-keys": "2", "prefix": "J"],
                    payloadSHA256: Data().sha256
                ),
                names: "host;x-amz-content-sha256;x-amz-date",
                signature: "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"
            )
        }

        @Test func presignedURLOfAnObject() throws {
            let url = try signer.presignedURL(method: "GET", key: "test.txt", validFor: .seconds(86400))
            #expect(
                url.absoluteString
                    == "https://examplebucket.s3.amazonaws.com/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256"
                    + "&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request"
                    + "&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400"
                    + "&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
                    + "&X-Amz-SignedHeaders=host"
            )
        }
    }

    /// A presigned URL that another implementation made.
    struct Example: CustomTestStringConvertible {
        var method = "GET"
        var bucket = "photos"
        var region: String
        var endpoint: String?
        var key: String
        var token: String?
        var seconds: Int
        var headers: [String: String] = [:]
        /// The URL up to the query.
        var location: String
        var signature: String

        var testDescription: String { "\(method) \(location)" }

        /// Made by botocore 1.43.11 (`generate_presigned_url`, `s3v4`) at 2026-11-21 07:08:09 UTC.
        static let all = [
            Example(
                region: "eu-central-1",
                key: "1.jpg",
                seconds: 900,
                location: "https://photos.s3.eu-central-1.amazonaws.com/1.jpg",
                signature: "bc32c483e51d4f58aee6281c8e2d67bd3596f78daacbabe4b47bf5b2c01a64dc"
            ),
            Example(
                method: "PUT",
                region: "us-east-1",
                endpoint: "http://127.0.0.1:9000",
                key: "a b/c+d/é😀&=?#%.jpg",
                seconds: 60,
                location: "http://127.0.0.1:9000/photos/a%20b/c%2Bd/%C3%A9%F0%9F%98%80%26%3D%3F%23%25.jpg",
                signature: "3614eee173d6d876cb5d1c681f9b5daeb9f186870183e4d0a073ec36db865185"
            ),
            Example(
                method: "DELETE",
                region: "us-east-1",
                endpoint: "http://127.0.0.1:9000",
                key: "~_-.'()*!,:@$;",
                seconds: 604_800,
                location: "http://127.0.0.1:9000/photos/~_-.%27%28%29%2A%21%2C%3A%40%24%3B",
                signature: "0bc2bff65710ea8d582c47d08f05bb3182898ea300b78f86cb1c73517a702117"
            ),
            Example(
                bucket: "my.bucket",
                region: "ap-southeast-2",
                endpoint: "https://storage.example.com",
                key: "dir/sub dir/x.bin",
                token: "FwoGZXIvYXdz+/=token",
                seconds: 300,
                location: "https://storage.example.com/my.bucket/dir/sub%20dir/x.bin",
                signature: "056f35488ea81c304ea168e50cfcdf0a395bec7249fb60a51619c7200fbb80c0"
            ),
            Example(
                region: "eu-west-1",
                key: "文/件.txt",
                token: "tok en",
                seconds: 1,
                headers: ["x-amz-checksum-mode": "ENABLED"],
                location: "https://photos.s3.eu-west-1.amazonaws.com/%E6%96%87/%E4%BB%B6.txt",
                signature: "442d7e7cf245069b5e1b3145bebfbab81ceed2144870ffcb9b9b8f0fb2d92173"
            ),
            Example(
                method: "PUT",
                region: "eu-west-1",
                key: "z.bin",
                seconds: 900,
                headers: ["X-Amz-Checksum-SHA256": "n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg="],
                location: "https://photos.s3.eu-west-1.amazonaws.com/z.bin",
                signature: "c7b1535615b5aee629d98ee50133371e2cac7cbc13255b4bf0bffa17eb8c3a3d"
            ),
        ]
    }

    @Test(arguments: Example.all)
    func presignedURLsAreThoseOfBotocore(example: Example) throws {
        let date = try Date("2026-11-21T07:08:09Z", strategy: .iso8601)
        let bucket = S3Bucket(
            name: example.bucket,
            region: example.region,
            endpoint: example.endpoint.flatMap { URL(string: $0) },
            addressing: example.endpoint == nil ? .virtualHost : .path
        )
        let credentials = S3Credentials(
            accessKeyID: "AKIDEXAMPLE",
            secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
            sessionToken: example.token
        )
        let url = try S3Signer(bucket: bucket, credentials: credentials, now: { date })
            .presignedURL(
                method: example.method,
                key: example.key,
                validFor: .seconds(example.seconds),
                headers: example.headers
            )
        let parts = url.absoluteString.split(separator: "?")
        #expect(parts.count == 2)
        #expect(String(parts[0]) == example.location)
        #expect(parts[1].contains("X-Amz-Signature=\(example.signature)"))
        #expect(parts[1].contains("X-Amz-Expires=\(example.seconds)&"))
    }

    @Test(
        arguments: [(0, 1), (-5, 1), (604_801, 604_800), (60, 60)]
    )
    func validityBeyondWhatS3AllowsBecomesWhatItAllows(seconds: Int, expected: Int) throws {
        let signer = S3Signer(
            bucket: S3Bucket(name: "b", region: "r"),
            credentials: S3Credentials(accessKeyID: "a", secretAccessKey: "s")
        )
        let url = try signer.presignedURL(method: "GET", key: "k", validFor: .seconds(seconds))
        #expect(url.absoluteString.contains("X-Amz-Expires=\(expected)&"))
    }

    @Test(arguments: ["ftp://a", "file:///a", "nothing"])
    func endpointThatMakesNoURLIsAnError(text: String) throws {
        let endpoint = try #require(URL(string: text))
        let signer = S3Signer(
            bucket: S3Bucket(name: "b", region: "r", endpoint: endpoint, addressing: .path),
            credentials: S3Credentials(accessKeyID: "a", secretAccessKey: "s")
        )
        #expect(throws: S3Error.self) { try signer.presignedURL(method: "GET", key: "k") }
    }

    @Test
    func endpointMayHaveAPath() throws {
        let endpoint = try #require(URL(string: "https://project.example.com/storage/v1/s3/"))
        let signer = S3Signer(
            bucket: S3Bucket(name: "b", region: "r", endpoint: endpoint, addressing: .path),
            credentials: S3Credentials(accessKeyID: "a", secretAccessKey: "s")
        )
        #expect(try signer.url(key: "x y").absoluteString == "https://project.example.com/storage/v1/s3/b/x%20y")
    }

    @Test
    func credentialsDoNotShowTheirSecrets() {
        let credentials = S3Credentials(accessKeyID: "id", secretAccessKey: "hidden", sessionToken: "token")
        #expect(!"\(credentials)".contains("hidden") && !"\(credentials)".contains("token"))
    }
}
