import Foundation
import LocalDatabaseWorker
import NIOConcurrencyHelpers
import NIOHTTP1
import TestSupport
import Testing

@testable import PowerSyncAttachments

/// Processes that are killed (`kill -9`) while they upload a file in parts, and others that go on.
@Suite(.serialized, .timeLimit(.minutes(5))) struct PartsKillTests {
    private static let partSize = 100_000
    /// 20 parts, the last one of a byte.
    private static let content = Data.pattern(1_900_001)

    /// When the process is killed: its part is on the way.
    enum Moment: CaseIterable {
        /// The server does not have the part.
        case beforeItIsStored
        /// The server has the part, and the process was not told.
        case beforeItIsAnswered
    }

    /// Both kinds of servers.
    private final class Server: Sendable {
        let kind: WorkerParts
        let tus = ModelTusServer()
        let storage = ModelPartsStorage()
        /// The parts at which processes are killed, the next one first, by how many have come.
        private let kills: NIOLockedValueBox<[Int]>
        private let moment: Moment
        private let arrived: AsyncStream<Void>.Continuation
        let arrivals: AsyncStream<Void>

        init(_ kind: WorkerParts, killingAfter kills: [Int], _ moment: Moment) {
            self.kind = kind
            self.kills = NIOLockedValueBox(kills)
            self.moment = moment
            (arrivals, arrived) = AsyncStream.makeStream()
        }

        /// How many parts it has taken.
        var received: Int { kind == .tus ? tus.current.received : storage.current.received }

        func respond(to request: StorageServer.Request) -> StorageServer.Response {
            if request.method == .POST, request.uri == "/parts" { return answer(request) }
            let isPart = request.method == (kind == .tus ? .PATCH : .PUT)
            let isLast = kills.withLockedValue { kills in
                guard isPart, let next = kills.first, received >= next else { return false }
                kills.removeFirst()
                return true
            }
            guard isLast else { return take(request) }
            if moment == .beforeItIsAnswered { _ = take(request) }
            arrived.yield()
            // It hears nothing of this part any more.
            return .init(body: .init(bytes: Data([1])), end: .silent(after: 0))
        }

        private func take(_ request: StorageServer.Request) -> StorageServer.Response {
            kind == .tus ? tus.respond(to: request) : storage.respond(to: request)
        }

        /// What a backend answers about parts.
        private func answer(_ request: StorageServer.Request) -> StorageServer.Response {
            do {
                let wanted = try JSONDecoder().decode(AttachmentPartsRequest.self, from: request.body)
                let answer = try storage.answer(wanted)
                return .init(
                    headers: ["Content-Type": "application/json"],
                    body: .init(bytes: try JSONEncoder().encode(answer))
                )
            } catch {
                return .init(status: .notFound)
            }
        }

        /// Whether it has the file.
        func has(_ content: Data) -> Bool {
            guard kind == .signed else {
                return tus.current.uploads.values.contains { $0.content == content }
            }
            let parts = storage.current.files["1.bin"] ?? []
            var offset = 0
            for part in parts {
                guard part.digest == content[offset..<offset + Int(part.size)].sha256 else { return false }
                offset += Int(part.size)
            }
            return offset == content.count
        }
    }

    private func task(_ kind: WorkerParts, _ path: String, _ server: StorageServer) -> WorkerTask {
        var task = WorkerTask(.uploadParts, path: path)
        task.service = server.url
        task.parts = kind
        task.partSize = Int64(PartsKillTests.partSize)
        return task
    }

    @Test(arguments: WorkerParts.allCases, Moment.allCases)
    func aKilledProcessCostsAtMostWhatWasOnItsWay(_ kind: WorkerParts, _ moment: Moment) async throws {
        let kills = [0, 3, 4, 11, 18]
        let model = Server(kind, killingAfter: kills, moment)
        try await AttachmentsFolder.run { folder async throws in
            try folder.write(PartsKillTests.content, to: "1.bin")
            try await StorageServer.run({ model.respond(to: $0) }) { server in
                model.storage.change { $0.url = server.url }
                let argument = try task(kind, folder("1.bin"), server).argument()
                var arrivals = model.arrivals.makeAsyncIterator()
                for _ in kills {
                    let worker = try WorkerProcess(argument: argument)
                    await arrivals.next()
                    await worker.kill()
                    #expect(try folder.names == ["1.bin", "1.bin.upload.pstmp"])
                }
                let last = try WorkerProcess(argument: argument)
                let lines = await last.remainingLines()
                #expect(await last.waitForExit() == 0, "\(lines)")
                #expect(model.has(PartsKillTests.content))
                #expect(try folder.names == ["1.bin"])
                // One at a time by tus, which says itself what it has; two lanes of the other.
                let most = 20 + (kind == .tus ? 0 : 2 * kills.count)
                #expect((20...most).contains(model.received), "\(model.received)")
                #expect(kind == .tus ? model.tus.current.created == 1 : model.storage.current.begun == 1)
            }
        }
    }

    /// `POWERSYNC_LARGE_FILE_MIB` says how large the file is; 32 by default.
    @Test(arguments: WorkerParts.allCases)
    func theMemoryIsThatOfTwoParts(_ kind: WorkerParts) async throws {
        let size = (ProcessInfo.processInfo.environment["POWERSYNC_LARGE_FILE_MIB"].flatMap(Int.init) ?? 32) << 20
        // What a part of tus has by default, which the model keeps, too; and the least that S3 takes.
        let partSize = kind == .tus ? 1 << 20 : 5 << 20
        let model = Server(kind, killingAfter: [], .beforeItIsStored)
        try await AttachmentsFolder.run { folder async throws in
            try folder.write(.pattern(size), to: "1.bin")
            try await StorageServer.run({ model.respond(to: $0) }) { server in
                model.storage.change { $0.url = server.url }
                var task = task(kind, folder("1.bin"), server)
                task.partSize = Int64(partSize)
                let worker = try WorkerProcess(argument: task.argument())
                let lines = await worker.remainingLines()
                #expect(await worker.waitForExit() == 0)
                let said = lines.compactMap { line in
                    line.hasPrefix(WorkerTask.Line.uploaded)
                        ? Int(line.dropFirst(WorkerTask.Line.uploaded.count)) : nil
                }
                let memory = try #require(said.first)
                print("memory of an upload of \(size >> 20) MiB, \(kind): \(memory >> 10) KiB")
                // The parts, as they are read and as they are sent, and what a process needs for its first request.
                #expect(memory < 2 * 2 * partSize + (16 << 20), "\(memory)")
            }
        }
    }
}
