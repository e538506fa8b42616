import Foundation
import NIOConcurrencyHelpers
import NIOHTTP1
import PowerSync
import PowerSyncAttachments
import TestSupport
import Testing

@testable import PowerSyncS3

/// Uploads in parts to a storage that speaks S3: `scripts/with-s3` starts one.
@Suite(
    .enabled(if: ObjectStorage.endpoint != nil, "run through scripts/with-s3"),
    .timeLimit(.minutes(2))
)
struct S3PartsStorageTests {
    /// Two parts and a little.
    private static let content = Data.pattern(11_000_000)

    private struct Harness {
        let bucket: TestBucket
        let storage: S3PartsStorage
        let folder: AttachmentsFolder
        let attachment = Attachment(
            id: "1",
            filename: "a b+ü.bin",
            state: .queuedUpload,
            mediaType: "video/mp4",
            size: Int64(S3PartsStorageTests.content.count)
        )

        func upload(_ storage: any AttachmentPartsStorage, lanes: Int = 2) async throws {
            var options = AttachmentPartsOptions()
            options.lanes = lanes
            let base = S3AttachmentTransport(
                bucket: bucket.signer.bucket,
                credentials: TestBucket.credentials,
                keyPrefix: "files/"
            )
            let transport = MultipartAttachmentTransport(storage: storage, base: base, options: options)
            let located = LocatedAttachment(attachment: attachment, localPath: folder("1.bin"))
            try await transport.upload(located) { _, _ in }
        }

        func expectFile() async throws {
            let (status, headers, content) = try await bucket.request("GET", "files/\(attachment.filename)")
            #expect(status == .ok)
            #expect(headers.first(name: "Content-Type") == "video/mp4")
            #expect(content == S3PartsStorageTests.content)
            #expect(try folder.names == ["1.bin"])
        }
    }

    private func run(
        usesChecksums: Bool = true,
        now: @escaping @Sendable () -> Date = { Date() },
        _ body: (Harness) async throws -> Void
    ) async throws {
        let bucket = try await TestBucket.make()
        let storage = S3PartsStorage(
            bucket: bucket.signer.bucket,
            credentials: TestBucket.credentials,
            keyPrefix: "files/",
            usesChecksums: usesChecksums,
            httpClient: .standard,
            clock: S3Clock(now)
        )
        try await AttachmentsFolder.run { folder async throws in
            try folder.write(S3PartsStorageTests.content, to: "1.bin")
            try await body(Harness(bucket: bucket, storage: storage, folder: folder))
        }
    }

    /// A storage that fails at one step once, or loses parts.
    private struct Faulty: AttachmentPartsStorage {
        let storage: S3PartsStorage
        /// The part for which no request is given, by number.
        var failingPart: Int?
        /// Called with the upload before it is completed.
        var beforeCompletion: @Sendable (AttachmentPartsUpload) async throws -> Void = { _ in }

        func beginUpload(of attachment: Attachment) async throws -> String {
            try await storage.beginUpload(of: attachment)
        }

        func request(for part: AttachmentPart, of upload: AttachmentPartsUpload) async throws -> AttachmentHTTPRequest {
            if part.number == failingPart { throw CocoaError(.fileReadUnknown) }
            return try await storage.request(for: part, of: upload)
        }

        func parts(of upload: AttachmentPartsUpload) async throws -> [StoredAttachmentPart] {
            try await storage.parts(of: upload)
        }

        func complete(_ upload: AttachmentPartsUpload, parts: [StoredAttachmentPart]) async throws -> Bool {
            try await beforeCompletion(upload)
            return try await storage.complete(upload, parts: parts)
        }

        func abort(_ upload: AttachmentPartsUpload) async throws {
            try await storage.abort(upload)
        }
    }

    @Test(arguments: [true, false])
    func makesAnObjectOfParts(usesChecksums: Bool) async throws {
        try await run(usesChecksums: usesChecksums) { harness async throws in
            try await harness.upload(harness.storage)
            try await harness.expectFile()
            // Again, as after a crash.
            try await harness.upload(harness.storage)
            try await harness.expectFile()
        }
    }

    @Test
    func continuesWithThePartsThatAreThere() async throws {
        try await run { harness async throws in
            await #expect(throws: CocoaError.self) {
                try await harness.upload(Faulty(storage: harness.storage, failingPart: 3), lanes: 1)
            }
            try await harness.upload(Faulty(storage: harness.storage, failingPart: 1))
            try await harness.expectFile()
        }
    }

    @Test
    func makesAnObjectOfPartsThatCameOutOfOrder() async throws {
        try await run { harness async throws in
            let id = try await harness.storage.beginUpload(of: harness.attachment)
            let upload = AttachmentPartsUpload(attachment: harness.attachment, id: id)
            // The second one twice: what comes later counts.
            for number in [3, 2, 1, 2] {
                let bytes = Data(Self.content.dropFirst((number - 1) * (5 << 20)).prefix(5 << 20))
                let part = AttachmentPart(number: number, size: Int64(bytes.count), sha256: bytes.sha256)
                let target = try await harness.storage.request(for: part, of: upload)
                let answer = try await AttachmentHTTPClient(.standard).send("PUT", target, body: bytes)
                #expect(answer.status == 200)
            }
            let parts = try await harness.storage.parts(of: upload)
            #expect(parts.map(\.number).sorted() == [1, 2, 3])
            #expect(try await harness.storage.complete(upload, parts: parts.sorted { $0.number < $1.number }))
            try await harness.expectFile()
        }
    }

    @Test
    func beginsAnewWhenTheUploadIsGone() async throws {
        try await run { harness async throws in
            await #expect(throws: CocoaError.self) {
                try await harness.upload(Faulty(storage: harness.storage, failingPart: 3), lanes: 1)
            }
            // The storage of the tests says of each upload that it began in 2010.
            let (before, after) = (Date(timeIntervalSince1970: 1_200_000_000), Date())
            #expect(try await harness.storage.abortUploads(olderThan: before) == 0)
            #expect(try await harness.storage.abortUploads(olderThan: after) == 1)
            try await harness.upload(harness.storage)
            try await harness.expectFile()
            #expect(try await harness.storage.abortUploads(olderThan: after) == 0)
        }
    }

    /// What was completed while the answer was lost is complete.
    @Test
    func completesTwice() async throws {
        try await run { harness async throws in
            let isFirst = NIOLockedValueBox(true)
            let storage = harness.storage
            var faulty = Faulty(storage: storage)
            faulty.beforeCompletion = { upload in
                guard isFirst.withLockedValue({ $0 }) else { return }
                isFirst.withLockedValue { $0 = false }
                #expect(try await storage.complete(upload, parts: storage.parts(of: upload)))
                throw CocoaError(.fileReadUnknown)
            }
            await #expect(throws: CocoaError.self) { try await harness.upload(faulty) }
            faulty.failingPart = 1
            try await harness.upload(faulty)
            try await harness.expectFile()
        }
    }

    @Test
    func saysThatPartsAreNotAsTheyAreNamed() async throws {
        try await run { harness async throws in
            let id = try await harness.storage.beginUpload(of: harness.attachment)
            let upload = AttachmentPartsUpload(attachment: harness.attachment, id: id)
            let parts = [StoredAttachmentPart(number: 1, size: 5, etag: "d41d8cd98f00b204e9800998ecf8427e")]
            #expect(try await harness.storage.complete(upload, parts: parts) == false)
            #expect(try await harness.storage.parts(of: upload) == [])
            try await harness.storage.abort(upload)
            try await harness.storage.abort(upload)
            await #expect(throws: AttachmentStorageError.notFound) { try await harness.storage.parts(of: upload) }
        }
    }
}

/// A storage whose clock is another one than ours.
@Suite(.timeLimit(.minutes(1))) struct S3ClockTests {
    /// The date 24 November 2026, 07:08:09.
    private static let date = Date(timeIntervalSince1970: 1_795_504_089)

    private func storage(_ url: String) -> S3PartsStorage {
        S3PartsStorage(
            bucket: S3Bucket(name: "b", region: "us-east-1", endpoint: URL(string: url), addressing: .path),
            credentials: TestBucket.credentials,
            keyPrefix: "",
            usesChecksums: true,
            httpClient: .standard,
            clock: S3Clock { S3ClockTests.date.addingTimeInterval(3600) }
        )
    }

    @Test
    func signaturesCarryTheStoragesTime() async throws {
        try await StorageServer.run({ request in
            guard request.header("x-amz-date") == "20261124T070809Z" else {
                return .init(
                    status: .forbidden,
                    headers: ["Date": "Tue, 24 Nov 2026 07:08:09 GMT"],
                    body: .init(bytes: Data("<Error><Code>RequestTimeTooSkewed</Code></Error>".utf8))
                )
            }
            return .init(
                body: .init(bytes: Data("<InitiateMultipartUploadResult><UploadId>a&amp;b</UploadId></Initiate…>".utf8))
            )
        }) { server in
            let storage = storage(server.url)
            let attachment = Attachment(id: "1", filename: "1", state: .queuedUpload, size: 1)
            #expect(try await storage.beginUpload(of: attachment) == "a&b")
            #expect(server.received.count == 2)
            let upload = AttachmentPartsUpload(attachment: attachment, id: "a&b")
            let part = AttachmentPart(number: 1, size: 1, sha256: Data(repeating: 0, count: 32))
            let url = try await storage.request(for: part, of: upload).url.absoluteString
            #expect(url.contains("X-Amz-Date=20261124T070809Z") && url.contains("uploadId=a%26b"))
        }
    }

    /// A backend makes a storage for each request.
    @Test
    func theTimeIsThatOfAllStoragesOfTheEndpoint() async throws {
        try await StorageServer.run({ request in
            guard request.header("x-amz-date")?.hasPrefix("20261124T0708") == true else {
                return .init(status: .forbidden, headers: ["Date": "Tue, 24 Nov 2026 07:08:09 GMT"])
            }
            return .init(body: .init(bytes: Data("<ListPartsResult></ListPartsResult>".utf8)))
        }) { server in
            func storage() -> S3PartsStorage {
                let url = URL(string: server.url)
                let bucket = S3Bucket(name: "b", region: "us-east-1", endpoint: url, addressing: .path)
                return S3PartsStorage(bucket: bucket, credentials: TestBucket.credentials)
            }
            let attachment = Attachment(id: "1", filename: "1", state: .queuedUpload, size: 1)
            let upload = AttachmentPartsUpload(attachment: attachment, id: "a")
            #expect(try await storage().parts(of: upload) == [])
            let part = AttachmentPart(number: 1, size: 1, sha256: Data(repeating: 0, count: 32))
            let url = try await storage().request(for: part, of: upload).url.absoluteString
            #expect(url.contains("X-Amz-Date=20261124T0708"))
        }
    }

    /// A signature in a URL is checked by the storage when the URL is used.
    @Test
    func signedURLsCarryTheStoragesTimeAfterARefusal() async throws {
        let stored = NIOLockedValueBox<Data?>(nil)
        try await StorageServer.run({ request in
            let date = ["Date": "Tue, 24 Nov 2026 07:08:09 GMT"] as HTTPHeaders
            guard request.uri.contains("X-Amz-Date=20261124T0708") else {
                return .init(status: .forbidden, headers: date)
            }
            switch request.method {
            case .PUT:
                stored.withLockedValue { $0 = request.body }
                return .init()
            case .DELETE:
                stored.withLockedValue { $0 = nil }
                return .init(status: .noContent)
            default:
                let content = stored.withLockedValue { $0 }
                return content.map { .init(body: .init(bytes: $0)) } ?? .init(status: .notFound)
            }
        }) { server in
            let bucket = S3Bucket(name: "b", region: "us-east-1", endpoint: URL(string: server.url), addressing: .path)
            func transport() -> S3AttachmentTransport {
                S3AttachmentTransport(
                    bucket: bucket,
                    credentials: TestBucket.credentials,
                    keyPrefix: "",
                    usesChecksums: false,
                    clock: S3Clock { S3ClockTests.date.addingTimeInterval(-3600) }
                )
            }
            let attachment = Attachment(id: "1", filename: "1", state: .queuedUpload, size: 3)
            try await AttachmentsFolder.run { folder async throws in
                try folder.write(Data("abc".utf8), to: "a")
                try await transport().upload(LocatedAttachment(attachment: attachment, localPath: folder("a"))) {
                    _,
                    _ in
                }
                // Refused, asked for the time, and done.
                #expect(server.received.map(\.method) == [.PUT, .HEAD, .PUT])
                #expect(stored.withLockedValue { $0 } == Data("abc".utf8))
                let located = LocatedAttachment(attachment: attachment, localPath: folder("b"))
                let downloading = transport()
                try await downloading.download(located) { _, _ in }
                #expect(try folder.read("b") == Data("abc".utf8))
                try await downloading.delete(attachment)
                // It knows the time by then.
                #expect(server.received.dropFirst(3).map(\.method) == [.GET, .HEAD, .GET, .DELETE])
                #expect(stored.withLockedValue { $0 } == nil)
            }
            // And so does a signer of the endpoint, when one of its storages has learned the time.
            #expect(S3Clock.shared(for: bucket.endpoint).correct(by: "Tue, 24 Nov 2026 07:08:09 GMT"))
            let url = try S3Signer(bucket: bucket, credentials: TestBucket.credentials)
                .presignedURL(method: "PUT", key: "1")
            #expect(url.absoluteString.contains("X-Amz-Date=20261124T0708"))
        }
    }

    @Test
    func aRefusalAtTheSameTimeIsAnErrorOfTheTransfer() async throws {
        try await StorageServer.run({ _ in
            .init(status: .forbidden, headers: ["Date": "Tue, 24 Nov 2026 07:08:30 GMT"])
        }) { server in
            let transport = S3AttachmentTransport(
                bucket: S3Bucket(name: "b", region: "r", endpoint: URL(string: server.url), addressing: .path),
                credentials: TestBucket.credentials,
                keyPrefix: "",
                usesChecksums: false,
                clock: S3Clock { S3ClockTests.date }
            )
            let attachment = Attachment(id: "1", filename: "1", state: .queuedUpload, size: 3)
            let error = await #expect(throws: AttachmentTransferError.self) { try await transport.delete(attachment) }
            #expect(error?.httpStatus == 403)
            #expect(server.received.map(\.method) == [.DELETE, .HEAD])
        }
    }

    @Test
    func anotherRefusalIsAnErrorAtOnce() async throws {
        try await StorageServer.run({ _ in
            .init(status: .forbidden, headers: ["Date": "Tue, 24 Nov 2026 08:08:39 GMT"])
        }) { server in
            let storage = storage(server.url)
            let attachment = Attachment(id: "1", filename: "1", state: .queuedUpload, size: 1)
            let error = await #expect(throws: AttachmentTransferError.self) {
                try await storage.beginUpload(of: attachment)
            }
            #expect(error?.httpStatus == 403)
            #expect(server.received.count == 1)
        }
    }
}
