import Foundation
import NIOHTTP1
import PowerSync
import TestSupport
import Testing

@testable import PowerSyncS3

/// Against a storage that speaks S3: `scripts/with-s3` starts one.
@Suite(
    .enabled(if: ObjectStorage.endpoint != nil, "run through scripts/with-s3"),
    .timeLimit(.minutes(2))
)
struct S3AttachmentTransportTests {
    private let credentials = TestBucket.credentials

    /// Runs a test with a bucket of its own.
    private func run(
        usesChecksums: Bool = true,
        _ body: (TestBucket, S3AttachmentTransport, AttachmentsFolder) async throws -> Void
    ) async throws {
        let bucket = try await TestBucket.make()
        let transport = S3AttachmentTransport(
            bucket: bucket.signer.bucket,
            credentials: credentials,
            keyPrefix: "files/",
            usesChecksums: usesChecksums
        )
        try await AttachmentsFolder.run { try await body(bucket, transport, $0) }
    }

    private func located(_ filename: String, _ path: String) -> LocatedAttachment {
        let attachment = Attachment(id: filename, filename: filename, state: .queuedUpload, mediaType: "image/jpeg")
        return LocatedAttachment(attachment: attachment, localPath: path)
    }

    @Test(arguments: [0, 1, 3_000_001], [true, false])
    func bringsFilesOfAllSizesThereAndBackAndDeletesThem(size: Int, usesChecksums: Bool) async throws {
        try await run(usesChecksums: usesChecksums) { bucket, transport, folder async throws in
            try folder.write(.pattern(size), to: "a")
            let steps = TransferSteps()
            try await transport.upload(located("1.jpg", folder("a")), progress: steps.add)
            #expect(steps.all.last == .init(bytes: Int64(size), total: Int64(size)))
            let (status, headers, content) = try await bucket.request("GET", "files/1.jpg")
            #expect(status == .ok)
            #expect(headers.first(name: "Content-Type") == "image/jpeg")
            #expect(content == .pattern(size))
            // Again, as after a crash.
            try await transport.upload(located("1.jpg", folder("a"))) { _, _ in }

            try await transport.download(located("1.jpg", folder("b"))) { _, _ in }
            #expect(try folder.read("b") == .pattern(size))

            try await transport.delete(located("1.jpg", "").attachment)
            try await transport.delete(located("1.jpg", "").attachment)
            #expect(try await bucket.request("GET", "files/1.jpg").0 == .notFound)
            await #expect(throws: AttachmentStorageError.notFound) {
                try await transport.download(located("1.jpg", folder("c"))) { _, _ in }
            }
            #expect(try folder.names == ["a", "b"])
        }
    }

    @Test(
        arguments: [
            ["a b/c.jpg", "a+b/c.jpg", "a%20b/c.jpg", "A b/c.jpg", "😀/ü.jpg", "文件", "x&y=z?#", "'()*!,:@$;~", "a\\b"]
        ]
    )
    func keepsAllFileNamesApart(names: [String]) async throws {
        try await run { bucket, transport, folder async throws in
            for name in names {
                try folder.write(Data(name.utf8), to: "a")
                try await transport.upload(located(name, folder("a"))) { _, _ in }
            }
            for name in names {
                try await transport.download(located(name, folder("b"))) { _, _ in }
                #expect(try folder.read("b") == Data(name.utf8))
                #expect(try await bucket.request("GET", "files/\(name)").2 == Data(name.utf8))
                try FileManager.default.removeItem(atPath: folder("b"))
            }
        }
    }

    @Test(arguments: [false, true])
    func continuesAnInterruptedDownloadAndStartsOverWhenTheObjectHasChanged(hasChanged: Bool) async throws {
        try await run { bucket, transport, folder async throws in
            let content = Data.pattern(3_000_000)
            #expect(try await bucket.request("PUT", "files/1", body: content).0 == .ok)
            let etag = try #require(try await bucket.request("HEAD", "files/1").1.first(name: "ETag"))
            let record = #"{"bytes":2000000,"etag":\#(String(reflecting: etag)),"total":3000000}"#
            try folder.write(content.prefix(2_000_000), to: "b")
            try folder.write(Data(record.utf8), to: "b.state.pstmp")
            let expected = hasChanged ? Data(content.reversed()) : content
            if hasChanged { #expect(try await bucket.request("PUT", "files/1", body: expected).0 == .ok) }

            let steps = TransferSteps()
            try await transport.download(located("1", folder("b")), progress: steps.add)
            #expect(try folder.read("b") == expected)
            #expect(try folder.names == ["b"])
            if !hasChanged { #expect(steps.all.first == .init(bytes: 2_000_000, total: 3_000_000)) }
        }
    }

    @Test
    func reportsARefusalWithItsStatus() async throws {
        try await run { bucket, transport, folder async throws in
            #expect(try await bucket.request("PUT", "files/1", body: .pattern(10)).0 == .ok)
            let policy = """
                {"Version": "2012-10-17", "Statement": [{"Effect": "Deny", "Principal": "*", "Action": "s3:*",
                "Resource": "arn:aws:s3:::\(bucket.signer.bucket.name)/*"}]}
                """
            let (status, _, _) = try await bucket.request("PUT", "", query: ["policy": ""], body: Data(policy.utf8))
            #expect(status.code < 300)
            try folder.write(.pattern(10), to: "a")
            let transfers: [() async throws -> Void] = [
                { try await transport.upload(located("2", folder("a"))) { _, _ in } },
                { try await transport.download(located("1", folder("b"))) { _, _ in } },
                { try await transport.delete(located("1", "").attachment) },
            ]
            for transfer in transfers {
                let error = await #expect(throws: AttachmentTransferError.self) { try await transfer() }
                #expect(error?.httpStatus == 403)
                #expect(error?.isRetriable == false)
            }
            #expect(try folder.names == ["a"])
        }
    }

    @Test
    func toABucketThatIsNotThereReportsItsAbsence() async throws {
        let endpoint = try #require(ObjectStorage.endpoint)
        let bucket = S3Bucket(name: "no-such-bucket", region: "us-east-1", endpoint: endpoint, addressing: .path)
        let transport = S3AttachmentTransport(bucket: bucket, credentials: credentials)
        try await AttachmentsFolder.run { folder async throws in
            try folder.write(.pattern(10), to: "a")
            let error = await #expect(throws: AttachmentTransferError.self) {
                try await transport.upload(located("1", folder("a"))) { _, _ in }
            }
            #expect(error?.httpStatus == 404)
            await #expect(throws: AttachmentStorageError.notFound) {
                try await transport.download(located("1", folder("b"))) { _, _ in }
            }
        }
    }
}
