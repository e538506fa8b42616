import Foundation
import HTTPStackTestSupport
import NIOConcurrencyHelpers
import NIOHTTP1
import TestSupport
import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient

/// Uploads by tus, and what continues them.
@Suite(.onEachHTTPStack, .timeLimit(.minutes(2))) struct TusUploadTests {
    private static let partSize = 100_000
    /// Five parts, the last one of 50,001 bytes.
    private static let content = Data.pattern(450_001)

    /// A server, a folder with the file `1.bin`, and a transport.
    private struct Harness: PartsHarness {
        let model: ModelTusServer
        let base = RecordingTransport()
        let server: StorageServer
        let folder: AttachmentsFolder
        let client: PowerSyncHTTPClient
        let date = NIOLockedValueBox(Date(timeIntervalSince1970: 1_795_900_000))
        var endpoint: String
        var partSize = TusUploadTests.partSize
        var token = "first"

        let filename = "ü.bin"
        let mediaType = "image/jpeg"
        var adapter: any AttachmentTransportAdapter { get throws { try transport } }

        var transport: TusAttachmentTransport {
            get throws {
                var options = TusAttachmentTransport.Options()
                options.partSize = Int64(partSize)
                options.metadata = { _ in ["bucket": "photos"] }
                let token = token
                return TusAttachmentTransport(
                    endpoint: try #require(URL(string: endpoint)),
                    base: base,
                    options: options,
                    httpClient: client,
                    headers: { ["Authorization": "Bearer \(token)"] }
                ) { [date] in date.withLockedValue { $0 } }
            }
        }

        /// Uploads until some parts have come, and the server is overloaded.
        func uploadParts(upTo number: Int) async throws {
            model.change {
                $0.interception = { [partSize] request in
                    guard let offset = request.header("Upload-Offset").flatMap({ Int($0) }) else { return nil }
                    return offset >= number * partSize ? .init(status: .serviceUnavailable) : nil
                }
            }
            let error = await #expect(throws: AttachmentTransferError.self) { try await upload() }
            #expect(error?.httpStatus == 503)
            model.change { $0.interception = nil }
            #expect(try folder.names == ["1.bin", "1.bin.upload.pstmp"])
        }

        /// Expects that the server has the file, and nothing is left of the upload.
        func expectFile(_ content: Data = TusUploadTests.content) throws {
            let upload = try #require(model.current.uploads.values.first { $0.content.count == $0.length })
            #expect(upload.content == content)
            #expect(try folder.names == ["1.bin"])
        }
    }

    private func run(
        _ content: Data = TusUploadTests.content,
        _ body: (Harness) async throws -> Void
    ) async throws {
        let model = ModelTusServer()
        try await withFileToUpload(content, answering: { model.respond(to: $0) }) { folder, server, client in
            let endpoint = server.url + "/files"
            try await body(Harness(model: model, server: server, folder: folder, client: client, endpoint: endpoint))
        }
    }

    @Test(arguments: [0, 1, 100_000, 450_001])
    func sendsTheFileInPartsWithItsMetadata(size: Int) async throws {
        try await run(.pattern(size)) { harness async throws in
            let steps = try await harness.upload()
            try harness.expectFile(.pattern(size))
            let upload = try #require(harness.model.current.uploads.values.first)
            #expect(
                upload.metadata == ["id": "1", "filename": "ü.bin", "filetype": "image/jpeg", "bucket": "photos"]
            )
            #expect(harness.model.current.received == (size + 99_999) / 100_000)
            #expect(harness.server.received.allSatisfy { $0.header("Authorization") == "Bearer first" })
            let parts = harness.server.received.filter { $0.method == .PATCH }
            #expect(parts.allSatisfy { $0.header("Upload-Checksum") != nil })
            #expect(steps.first == .init(bytes: 0, total: Int64(size)))
            #expect(steps.last == .init(bytes: Int64(size), total: Int64(size)))
        }
    }

    @Test
    func continuesAfterANewSignIn() async throws {
        try await run { harness async throws in
            try await harness.uploadParts(upTo: 3)
            var harness = harness
            harness.token = "second"
            let steps = try await harness.upload()
            #expect(steps.first == .init(bytes: 300_000, total: 450_001))
            #expect(harness.model.current.created == 1 && harness.model.current.received == 5)
            #expect(harness.server.received.last?.header("Authorization") == "Bearer second")
            try harness.expectFile()
        }
    }

    @Test
    func sendsNoDigestsToAServerThatDoesNotCheckThem() async throws {
        try await run { harness async throws in
            harness.model.change {
                $0.abilities = ["Tus-Extension": "creation,checksum", "Tus-Checksum-Algorithm": "md5"]
            }
            try await harness.upload()
            #expect(harness.server.received.allSatisfy { $0.header("Upload-Checksum") == nil })
            try harness.expectFile()
        }
        // Nor to one that does not say what it can.
        try await run { harness async throws in
            harness.model.change { $0.interception = { $0.method == .OPTIONS ? .init(status: .notFound) : nil } }
            try await harness.upload()
            #expect(harness.server.received.allSatisfy { $0.header("Upload-Checksum") == nil })
            try harness.expectFile()
        }
    }

    @Test
    func doesNotBeginWhatIsTooLarge() async throws {
        try await run { harness async throws in
            harness.model.change { $0.abilities.add(name: "Tus-Max-Size", value: "450000") }
            let error = await #expect(throws: AttachmentTransferError.self) { try await harness.upload() }
            #expect(error?.isRetriable == false)
            #expect(harness.model.current.created == 0)
            #expect(try harness.folder.names == ["1.bin"])
        }
    }

    @Test(arguments: [403, 404, 410])
    func beginsAnewWhenTheServerHasForgottenTheUpload(status: Int) async throws {
        try await run { harness async throws in
            try await harness.uploadParts(upTo: 3)
            let first = "/files/u1"
            harness.model.change {
                $0.interception = { $0.uri == first ? .init(status: .init(statusCode: status)) : nil }
            }
            try await harness.upload()
            #expect(harness.model.current.created == 2)
            try harness.expectFile()
        }
    }

    /// The answer was lost, or another process has sent: the server says where it is.
    @Test
    func asksTheServerWhereItIsWhenThatIsElsewhere() async throws {
        try await run { harness async throws in
            let isFirst = NIOLockedValueBox(true)
            let model = harness.model
            model.change {
                $0.interception = { request in
                    guard request.header("Upload-Offset") == "200000", isFirst.withLockedValue({ $0 }) else {
                        return nil
                    }
                    isFirst.withLockedValue { $0 = false }
                    // It takes the part, and what comes back says that it has not.
                    _ = model.receive(request)
                    return .init(status: .conflict)
                }
            }
            try await harness.upload()
            #expect(model.current.received == 5)
            try harness.expectFile()
        }
    }

    @Test
    func sendsAgainWhatTheServerHasLost() async throws {
        try await run { harness async throws in
            let model = harness.model
            let isFirst = NIOLockedValueBox(true)
            model.change {
                $0.interception = { request in
                    guard request.header("Upload-Offset") == "300000", isFirst.withLockedValue({ $0 }) else {
                        return nil
                    }
                    isFirst.withLockedValue { $0 = false }
                    model.change { state in
                        guard let content = state.uploads[request.uri]?.content else { return }
                        state.uploads[request.uri]?.content = content.prefix(100_000)
                    }
                    return nil
                }
            }
            try await harness.upload()
            #expect(model.current.created == 1 && model.current.received == 3 + 4)
            try harness.expectFile()
        }
    }

    @Test
    func beginsAnewWhereTheServerHasMoreThanTheFile() async throws {
        try await run { harness async throws in
            try await harness.uploadParts(upTo: 3)
            harness.model.change {
                $0.interception = { request in
                    guard request.method == .HEAD, request.uri == "/files/u1" else { return nil }
                    return .init(headers: ["Upload-Offset": "450002", "Upload-Length": "450002"])
                }
            }
            try await harness.upload()
            #expect(harness.model.current.created == 2)
            try harness.expectFile()
        }
    }

    @Test
    func sendsADamagedPartAgainAndGivesUpAfterThree() async throws {
        try await run { harness async throws in
            let damaged = NIOLockedValueBox(2)
            harness.model.change {
                $0.interception = { request in
                    guard request.header("Upload-Offset") == "100000" else { return nil }
                    let isDamaged = damaged.withLockedValue { count in
                        count -= 1
                        return count >= 0
                    }
                    return isDamaged ? .init(status: .custom(code: 460, reasonPhrase: "")) : nil
                }
            }
            try await harness.upload()
            try harness.expectFile()

            harness.model.change {
                $0.interception = { $0.method == .PATCH ? .init(status: .custom(code: 460, reasonPhrase: "")) : nil }
            }
            let error = await #expect(throws: AttachmentTransferError.self) { try await harness.upload() }
            #expect(error?.code == .digestMismatch)
        }
    }

    @Test(arguments: [nil, "99999", "300001", "x"])
    func doesNotBelieveAnOffsetThatCannotBe(offset: String?) async throws {
        try await run { harness async throws in
            harness.model.change {
                $0.interception = { request in
                    guard request.header("Upload-Offset") == "100000" else { return nil }
                    return .init(status: .noContent, headers: offset.map { ["Upload-Offset": $0] } ?? [:])
                }
            }
            let error = await #expect(throws: AttachmentTransferError.self) { try await harness.upload() }
            #expect(error?.code == .unexpectedResponse)
        }
    }

    @Test
    func waitsWhileTheServerHasTheUploadLocked() async throws {
        try await run { harness async throws in
            try await harness.uploadParts(upTo: 3)
            harness.model.change {
                $0.interception = {
                    $0.method == .HEAD ? .init(status: .custom(code: 423, reasonPhrase: "Locked")) : nil
                }
            }
            let error = await #expect(throws: AttachmentTransferError.self) { try await harness.upload() }
            #expect(error?.code == .inProgress)
            harness.model.change { $0.interception = nil }
            try await harness.upload()
            #expect(harness.model.current.created == 1)
            try harness.expectFile()
        }
    }

    @Test
    func terminatesWhatIsOlderThanItsLifetimeAndWhatIsDeleted() async throws {
        try await run { harness async throws in
            try await harness.uploadParts(upTo: 3)
            harness.date.withLockedValue { $0 += 3 * 86_400 }
            try await harness.uploadParts(upTo: 2)
            #expect(harness.model.current.created == 2 && harness.model.current.terminated == 1)
            try await harness.transport.delete(harness.attachment)
            #expect(harness.model.current.terminated == 2)
            #expect(harness.base.calls.withLockedValue { $0 } == ["delete 1"])
            #expect(try harness.folder.names == ["1.bin"])
        }
    }

    /// Its address gets no credentials any more, so it is neither continued nor waited for.
    @Test
    func ofAServerThatHasMovedBeginsAnewAndIsDeleted() async throws {
        try await run { harness async throws in
            try await harness.uploadParts(upTo: 3)
            let model = harness.model
            model.change {
                $0.interception = { $0.header("Authorization") == nil ? .init(status: .unauthorized) : nil }
            }
            try await StorageServer.run({ model.respond(to: $0) }) { other in
                var harness = harness
                harness.endpoint = other.url + "/files"
                try await harness.upload()
                #expect(model.current.created == 2)
                try harness.expectFile()
            }
            harness.model.change { $0.interception = nil }
            try await harness.uploadParts(upTo: 3)
            harness.model.change { $0.interception = { $0.method == .DELETE ? .init(status: .unauthorized) : nil } }
            try await harness.transport.delete(harness.attachment)
            #expect(harness.base.calls.withLockedValue { $0 } == ["delete 1"])
        }
    }

    /// The app's headers, so its token, stay at the endpoint.
    @Test
    func doesNotSendTheTokenToAnotherHost() async throws {
        try await run { harness async throws in
            let model = harness.model
            try await StorageServer.run({ model.respond(to: $0) }) { other in
                let location = "\(other.url)/files/u1"
                model.change {
                    $0.interception = { request in
                        guard request.method == .POST, request.header("Authorization") != nil else { return nil }
                        _ = model.create(request)
                        return .init(status: .created, headers: ["Location": location])
                    }
                }
                try await harness.upload()
                #expect(other.received.count == 5)
                #expect(other.received.allSatisfy { $0.header("Authorization") == nil })
                try harness.expectFile()
            }
        }
    }

    /// Over a link that is cut five times, each cut costs at most one part: as with 200 MiB and parts of 1 MiB.
    @Test
    func isNotSentAgainWhereTheLinkIsCut() async throws {
        // libcurl sends by itself again what was on a connection that it had used before, and hangs, for it cannot begin at its beginning.
        guard HTTPStack.current == .nio else { return }
        let size = (ProcessInfo.processInfo.environment["POWERSYNC_LARGE_FILE_MIB"].flatMap(Int.init) ?? 10) << 20
        let content = Data.pattern(size)
        try await run(content) { harness async throws in
            var harness = harness
            harness.partSize = min(1 << 20, size / 200)
            let distances = [11, 23, 31, 43, 53].map { size / 200 * $0 + 1000 }
            let proxy = try await CuttingProxy(to: harness.server.port, cuttingAfter: distances)
            harness.endpoint = proxy.url + "/files"
            try await untilItIsThere { try await harness.upload() }
            #expect(proxy.remainingCuts == 0)
            print("sent of \(size >> 20) MiB by tus, cut five times: \(proxy.sentBytes)")
            let requests = (size / harness.partSize + 20) * 600
            #expect(proxy.sentBytes < size + 5 * harness.partSize + requests, "\(proxy.sentBytes)")
            #expect(harness.model.current.created == 1)
            try harness.expectFile(content)
            try await proxy.stop()
        }
    }
}
