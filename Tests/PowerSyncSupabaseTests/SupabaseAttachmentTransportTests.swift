import Foundation
import NIOConcurrencyHelpers
import NIOHTTP1
import PowerSync
import TestSupport
import Testing

@testable import PowerSyncSupabase

@Suite(.timeLimit(.minutes(1))) struct SupabaseAttachmentTransportTests {
    private func run(
        _ body: (ScriptedSupabase, SupabaseAttachmentTransport, AttachmentsFolder) async throws -> Void
    ) async throws {
        try await ScriptedSupabase.run { supabase async throws in
            let auth = try await supabase.signedIn()
            let transport = SupabaseAttachmentTransport(auth: auth, bucket: "my photos") { "u1/\($0.filename)" }
            try await AttachmentsFolder.run { try await body(supabase, transport, $0) }
        }
    }

    private func located(_ path: String, size: Int64 = 10) -> LocatedAttachment {
        let attachment = PowerSync.Attachment(
            id: "1",
            filename: "ä.jpg",
            state: .queuedUpload,
            localUri: path,
            mediaType: "image/jpeg",
            size: size
        )
        return LocatedAttachment(attachment: attachment, localPath: path)
    }

    @Test
    func bringsFilesToTheBucketAndBack() async throws {
        try await run { supabase, transport, folder async throws in
            try folder.write(.pattern(10), to: "a")
            try await transport.upload(located(folder("a"))) { _, _ in }
            let upload = try #require(supabase.requests.last)
            #expect(upload.method == .POST && upload.uri == "/storage/v1/object/my%20photos/u1/%C3%A4.jpg")
            #expect(upload.header("apikey") == "anon" && upload.header("Authorization") == "Bearer t1")
            #expect(upload.header("x-upsert") == "true" && upload.header("Content-Type") == "image/jpeg")
            #expect(upload.body == .pattern(10))

            supabase.change { $0.interception = { StorageServer.serve(.init(bytes: .pattern(10)), to: $0) } }
            try await transport.download(located(folder("b"))) { _, _ in }
            #expect(try folder.read("b") == .pattern(10))
            #expect(supabase.requests.last?.uri == "/storage/v1/object/authenticated/my%20photos/u1/%C3%A4.jpg")
            try await transport.delete(located(folder("a")).attachment)
            #expect(supabase.requests.last?.method == .DELETE)
            #expect(supabase.requests.last?.uri == "/storage/v1/object/my%20photos/u1/%C3%A4.jpg")
        }
    }

    @Test
    func uploadsLargeFilesInPartsOfSixMebibytes() async throws {
        try await run { supabase, transport, folder async throws in
            let size = 6 * 1024 * 1024 + 5
            try folder.write(.pattern(size), to: "a")
            supabase.change {
                $0.interception = { request in
                    switch request.method {
                    case .POST where request.uri == "/storage/v1/upload/resumable":
                        return .init(status: .created, headers: ["Location": "/storage/v1/upload/resumable/x"])
                    case .PATCH:
                        let offset = request.header("Upload-Offset").flatMap { Int($0) } ?? 0
                        return .init(status: .noContent, headers: ["Upload-Offset": "\(offset + request.size)"])
                    default: return nil
                    }
                }
            }
            try await transport.upload(located(folder("a"), size: Int64(size))) { _, _ in }
            #expect(supabase.requests.filter { $0.method == .PATCH }.map(\.size) == [6 * 1024 * 1024, 5])
            let creation = try #require(
                supabase.requests.first { $0.uri == "/storage/v1/upload/resumable" && $0.method == .POST }
            )
            let metadata = try #require(creation.header("Upload-Metadata"))
            #expect(metadata.contains("bucketName \(Data("my photos".utf8).base64EncodedString())"))
            #expect(metadata.contains("objectName \(Data("u1/ä.jpg".utf8).base64EncodedString())"))
            #expect(metadata.contains("contentType \(Data("image/jpeg".utf8).base64EncodedString())"))
            #expect(creation.header("Authorization") == "Bearer t1")
        }
    }

    /// What another transfer has renewed meanwhile is not renewed again.
    @Test
    func takesATokenThatWasRenewedMeanwhile() async throws {
        try await ScriptedSupabase.run { supabase async throws in
            let auth = try await supabase.signedIn()
            let transport = SupabaseAttachmentTransport(auth: auth, bucket: "photos")
            let (gate, arrived) = (StorageServer.Gate(), AsyncStream<Void>.makeStream())
            supabase.change {
                $0.interception = { request in
                    guard request.method == .DELETE, request.header("Authorization") == "Bearer t1" else { return nil }
                    arrived.continuation.yield()
                    let body = StorageServer.Content(bytes: Data("{}".utf8))
                    return .init(status: .unauthorized, body: body, end: .held(after: 0, until: gate))
                }
            }
            async let deletion: Void = transport.delete(located("/a").attachment)
            for await _ in arrived.stream { break }
            #expect(try await auth.accessToken(replacing: "t1") == "t2")
            gate.open()
            try await deletion
            #expect(supabase.requests.last?.header("Authorization") == "Bearer t2")
        }
    }

    /// The storage answers 400, and says what it means in the body.
    @Test
    func readsTheStatusThatIsMeant() async throws {
        try await run { supabase, transport, folder async throws in
            try folder.write(.pattern(10), to: "a")
            supabase.change {
                $0.interception = { _ in
                    .json(400, #"{"statusCode":"404","error":"not_found","message":"Object not found"}"#)
                }
            }
            await #expect(throws: AttachmentStorageError.notFound) {
                try await transport.download(located(folder("b"))) { _, _ in }
            }
            supabase.change {
                $0.interception = { _ in .json(400, #"{"statusCode":"409","error":"Duplicate","message":"exists"}"#) }
            }
            await #expect(throws: AttachmentStorageError.alreadyExists) {
                try await transport.upload(located(folder("a"))) { _, _ in }
            }
            // The token is renewed once,
            let isFirst = NIOLockedValueBox(true)
            supabase.change {
                $0.interception = { request in
                    guard request.uri.hasPrefix("/storage/"), isFirst.withLockedValue({ $0 }) else { return nil }
                    isFirst.withLockedValue { $0 = false }
                    return .json(400, #"{"statusCode":"403","error":"Unauthorized","message":"jwt expired"}"#)
                }
            }
            try await transport.upload(located(folder("a"))) { _, _ in }
            #expect(supabase.requests.last?.header("Authorization") == "Bearer t2")
            // and not for what a policy forbids.
            let count = supabase.requests.count
            supabase.change {
                $0.interception = { _ in
                    .json(
                        400,
                        #"{"statusCode":"403","error":"Unauthorized","message":"new row violates row-level security policy"}"#
                    )
                }
            }
            let error = await #expect(throws: AttachmentTransferError.self) {
                try await transport.upload(located(folder("a"))) { _, _ in }
            }
            #expect(error?.httpStatus == 400)
            #expect(supabase.requests.count == count + 1)
        }
    }
}
