import Foundation
import NIOConcurrencyHelpers
import PowerSyncProtocol
import PowerSyncSyncConfig
import RunningServiceTestSupport
import PowerSyncTesting
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncService
@testable import PowerSyncServiceCore

/// A sync config that is edited while the service runs.
@Suite(.timeLimit(.minutes(1))) struct SyncConfigFileWatchTests {
    /// A file, who watches it, and what was deployed.
    private final class Scenario: Sendable {
        let folder: TemporaryFolder
        let path: String
        let clock = TestClock()
        let log = CollectedLog()
        private let texts = NIOLockedValueBox<[String]>([])
        private let failure = NIOLockedValueBox<ServiceError?>(nil)

        init() throws {
            folder = try TemporaryFolder()
            path = folder.path("sync.yaml")
        }

        var deployed: [String] { texts.withLockedValue { $0 } }

        func write(_ text: String, atomically: Bool = false) throws {
            if atomically {
                try text.write(toFile: path, atomically: true, encoding: .utf8)
            } else {
                try Data(text.utf8).write(to: URL(filePath: path))
            }
        }

        /// Writes bytes into the file that is there, without any trace but them.
        func write(_ bytes: [UInt8], at date: Date) throws {
            try Data(bytes).write(to: URL(filePath: path))
            try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: path)
        }

        /// The lines of errors.
        var errors: [String] { log.lines.filter { $0.hasPrefix("error") } }

        /// What deploying ends with from now on.
        func fail(_ error: ServiceError?) { failure.withLockedValue { $0 = error } }

        func watching(_ body: @escaping @Sendable (SyncConfigFileWatch) async throws -> Void) async throws {
            var configuration = ServiceScenario.configuration(in: folder)
            configuration.syncConfig = .file(path)
            let file = try #require(SyncConfigFile(of: configuration, serviceFile: "", environment: [:]))
            let deployed = SyncConfigFile.Content(text: "first", file: path)
            let watch = SyncConfigFileWatch(file, deployed: deployed, clock: clock, logger: log.logger) { content in
                self.texts.withLockedValue { $0.append(content.text) }
                if let error = self.failure.withLockedValue({ $0 }) { throw error }
                let stream = ReplicationStream(
                    id: ReplicationStreamID(rawValue: 1),
                    state: .processing,
                    sourceHandle: "slot",
                    content: content.text,
                    plan: .empty,
                    isSnapshotDone: false
                )
                let plan = DeploymentPlan(.empty, among: [])
                return SyncConfigDeployment(.init(outcome: .started, stream: stream, plan: plan, warnings: []))
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await watch.run() }
                try await self.clock.nextTimerScheduled()
                try await body(watch)
                group.cancelAll()
            }
        }

        /// Lets the watch look once.
        func look() async throws {
            clock.advance(by: SyncConfigFileWatch.interval)
            try await clock.nextTimerScheduled()
        }
    }

    @Test func aChangedFileIsDeployedWhenItIsLeftAlone() async throws {
        let scenario = try Scenario()
        try scenario.write("first")
        try await scenario.watching { _ in
            for _ in 0..<3 { try await scenario.look() }
            #expect(scenario.deployed.isEmpty)
            try scenario.write("sec")
            try await scenario.look()
            // The editor was not done.
            try scenario.write("second")
            try await scenario.look()
            #expect(scenario.deployed.isEmpty)
            try await scenario.look()
            #expect(scenario.deployed == ["second"])
            for _ in 0..<3 { try await scenario.look() }
            #expect(scenario.deployed == ["second"])
        }
    }

    @Test func aFileThatWasReplacedIsDeployed() async throws {
        let scenario = try Scenario()
        try scenario.write("first")
        try await scenario.watching { _ in
            for text in ["2", "3", "4"] {
                try scenario.write(text, atomically: true)
                for _ in 0..<2 { try await scenario.look() }
            }
            #expect(scenario.deployed == ["2", "3", "4"])
        }
    }

    @Test func aLinkThatLeadsElsewhere() async throws {
        let scenario = try Scenario()
        let files = FileManager.default
        for version in ["1", "2"] {
            let folder = scenario.folder.path("v\(version)")
            try files.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try Data((version == "1" ? "first" : "other").utf8).write(to: URL(filePath: folder + "/sync.yaml"))
        }
        let data = scenario.folder.path("data")
        try files.createSymbolicLink(atPath: data, withDestinationPath: scenario.folder.path("v1"))
        try files.createSymbolicLink(atPath: scenario.path, withDestinationPath: data + "/sync.yaml")
        try await scenario.watching { _ in
            for _ in 0..<2 { try await scenario.look() }
            try files.removeItem(atPath: data)
            try files.createSymbolicLink(atPath: data, withDestinationPath: scenario.folder.path("v2"))
            for _ in 0..<2 { try await scenario.look() }
            #expect(scenario.deployed == ["other"])
        }
    }

    @Test func aFileThatIsGoneForAWhileChangesNothing() async throws {
        let scenario = try Scenario()
        try scenario.write("first")
        try await scenario.watching { _ in
            for _ in 0..<2 { try await scenario.look() }
            try FileManager.default.removeItem(atPath: scenario.path)
            for _ in 0..<3 { try await scenario.look() }
            #expect(scenario.log.lines.filter { $0.contains("is gone") }.count == 1)
            try scenario.write("first")
            for _ in 0..<2 { try await scenario.look() }
            #expect(scenario.deployed.isEmpty)
            try FileManager.default.removeItem(atPath: scenario.path)
            try await scenario.look()
            try scenario.write("second")
            for _ in 0..<2 { try await scenario.look() }
            #expect(scenario.deployed == ["second"])
        }
    }

    @Test func aBrokenTextIsLoggedOnce() async throws {
        let scenario = try Scenario()
        try scenario.write("first")
        try await scenario.watching { _ in
            scenario.fail(
                ServiceError(.invalidSyncConfig, "has errors", diagnostics: ["sync.yaml:1:1: a", "sync.yaml:2:1: b"])
            )
            try scenario.write("broken")
            for _ in 0..<5 { try await scenario.look() }
            #expect(scenario.deployed == ["broken"])
            let lines = scenario.log.lines.filter { $0.hasPrefix("error") }
            #expect(lines.count == 1)
            #expect(lines.first?.contains("sync.yaml:1:1: a") == true)
            #expect(lines.first?.contains("sync.yaml:2:1: b") == true)
            scenario.fail(nil)
            try scenario.write("mended at last")
            for _ in 0..<2 { try await scenario.look() }
            #expect(scenario.deployed == ["broken", "mended at last"])
        }
    }

    @Test func whatTheStorageCouldNotRecordIsTriedAgain() async throws {
        let scenario = try Scenario()
        try scenario.write("first")
        try await scenario.watching { _ in
            scenario.fail(ServiceError(.storage, "disk full"))
            try scenario.write("second")
            for _ in 0..<2 { try await scenario.look() }
            #expect(scenario.deployed == ["second"])
            scenario.fail(nil)
            for _ in 0..<2 { try await scenario.look() }
            #expect(scenario.deployed == ["second", "second"])
            for _ in 0..<3 { try await scenario.look() }
            #expect(scenario.deployed.count == 2)
        }
    }

    @Test func whatFailsInTheSameWayIsLoggedOnce() async throws {
        let scenario = try Scenario()
        try scenario.write("first")
        try await scenario.watching { watch in
            scenario.fail(ServiceError(.storage, "disk full"))
            try scenario.write("second")
            for _ in 0..<6 { try await scenario.look() }
            #expect(scenario.deployed.count == 3)
            #expect(scenario.errors.count == 1)
            scenario.fail(ServiceError(.storage, "disk gone"))
            for _ in 0..<4 { try await scenario.look() }
            #expect(scenario.errors.count == 2)
            // Whoever asks is told.
            watch.reload()
            try await scenario.clock.nextTimerScheduled()
            #expect(scenario.errors.count == 3)
            // And so is whoever believed that it was over.
            scenario.fail(nil)
            for _ in 0..<2 { try await scenario.look() }
            scenario.fail(ServiceError(.storage, "disk gone"))
            try scenario.write("third one")
            for _ in 0..<2 { try await scenario.look() }
            #expect(scenario.errors.count == 4)
        }
    }

    @Test func aFileThatCannotBeReadIsTriedAgain() async throws {
        let scenario = try Scenario()
        let date = Date(timeIntervalSince1970: 1_700_000_000)
        // No text: root may read everything else. As with rights that are given later, the file then stays what it was.
        try scenario.write([0xFF, 0xFF, 0xFF, 0xFF, 0xFF], at: date)
        try await scenario.watching { _ in
            for _ in 0..<6 { try await scenario.look() }
            #expect(scenario.deployed.isEmpty)
            #expect(scenario.errors.count == 1)
            #expect(scenario.errors.first?.contains("cannot be read") == true)
            try scenario.write(Array("other".utf8), at: date)
            for _ in 0..<2 { try await scenario.look() }
            #expect(scenario.deployed == ["other"])
        }
    }

    @Test func aFileThatIsGoneWhenSomebodyAsksIsReportedOnce() async throws {
        let scenario = try Scenario()
        try await scenario.watching { watch in
            watch.reload()
            try await scenario.clock.nextTimerScheduled()
            for _ in 0..<3 { try await scenario.look() }
            #expect(scenario.log.lines.count == 1, "\(scenario.log.lines)")
        }
    }

    @Test func aReloadReadsTheFileAtOnce() async throws {
        let scenario = try Scenario()
        try scenario.write("first")
        try await scenario.watching { watch in
            try scenario.write("second")
            watch.reload()
            try await scenario.clock.nextTimerScheduled()
            #expect(scenario.deployed == ["second"])
            // Whoever asks gets an answer, also when nothing has changed.
            watch.reload()
            try await scenario.clock.nextTimerScheduled()
            #expect(scenario.deployed == ["second", "second"])
            #expect(scenario.clock.now.offset == .zero)
            try FileManager.default.removeItem(atPath: scenario.path)
            watch.reload()
            try await scenario.clock.nextTimerScheduled()
            #expect(scenario.log.lines.contains { $0.hasPrefix("error") && $0.contains("does not exist") })
        }
    }

    // MARK: A whole service

    /// What an editor, a failed download or a wrong file may leave behind.
    private static let unusable = [
        "words that are no map", "", "- a\n- list\n", "streams: {a: \"no end\n\tx: - y",
        String(repeating: "[", count: 1024 * 1024), "\0\u{1}\u{7F}",
    ]

    @Test func aFileThatIsNoSyncConfigAtAllKeepsThePresentOneGoing() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("sync.yaml")
        try ServiceScenario.syncConfig.write(toFile: path, atomically: true, encoding: .utf8)
        let (log, clock) = (CollectedLog(), TestClock())
        try await ServiceScenario.run(
            in: folder,
            log: log,
            configure: { configuration in
                configuration.syncConfig = .file(path)
                configuration.admin.tokens = [AdminScenario.token]
            }
        ) { scenario in
            let configuration = scenario.service.configuration
            let file = try #require(SyncConfigFile(of: configuration, serviceFile: "", environment: [:]))
            let watch = SyncConfigFileWatch(of: file, for: scenario.service, clock: clock, logger: log.logger)
            func edit(_ text: String) async throws {
                try Data(text.utf8).write(to: URL(filePath: path))
                for _ in 0..<2 {
                    clock.advance(by: SyncConfigFileWatch.interval)
                    try await clock.nextTimerScheduled()
                }
            }
            func admin(_ method: String, _ path: String) async throws -> JSONObject {
                let reply = try await scenario.send(method, path, token: AdminScenario.token)
                #expect(reply.status == 200, "\(reply.body)")
                return try reply.json.object("data")
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await watch.run() }
                try await clock.nextTimerScheduled()
                var stream = try await scenario.stream(try scenario.token())
                _ = try await stream.untilComplete()
                for (number, text) in Self.unusable.enumerated() {
                    try await edit(text)
                    let errors = log.lines.filter { $0.hasPrefix("error The sync config cannot be deployed") }
                    #expect(errors.count == number + 1, "\(text.prefix(100))")
                    #expect(errors.last?.contains(path) == true)
                    #expect(errors.last?.utf8.count ?? 0 < 2000)

                    let diagnostics = try await admin("POST", "/api/admin/v1/diagnostics")
                    #expect(diagnostics.object("active_sync_rules").text("stream_id") == "1")
                    let rejected = diagnostics.object("rejected_sync_rules").objects("errors")
                    #expect(rejected.first?.text("level") == "fatal", "\(text.prefix(100))")
                    let current = try await admin("GET", "/api/sync-rules/v1/current")
                    #expect(current.object("current").text("content") == ServiceScenario.syncConfig)
                    #expect(current.object("current")["valid"] == .bool(true))
                    #expect(current["next"] == .null)

                    // Clients notice nothing.
                    try await scenario.write(
                        ServiceScenario.put("lists", "l1", ["owner_id": "u1", "name": .string("\(number)")])
                    )
                    #expect(try await stream.untilComplete().last?.hasPrefix("complete") == true)
                }
                try await edit(AdminScenario.otherConfig)
                while try await stream.next() != nil {}
                var next = try await scenario.stream(try scenario.token())
                #expect(try await next.summary()?.contains("2#lists") == true)
                let diagnostics = try await admin("POST", "/api/admin/v1/diagnostics")
                #expect(diagnostics["rejected_sync_rules"] == nil)
                group.cancelAll()
            }
        }
    }

    @Test func aConfigInTheServiceConfigurationIsReadFromThere() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("powersync.yaml")
        func text(_ config: String) -> String {
            """
            replication: {connections: [{type: embedded, path: source.db}]}
            storage: {type: sqlite, path: buckets.db}
            sync_config: {content: "\(config)"}
            """
        }
        try Data(text("one").utf8).write(to: URL(filePath: path))
        let configuration = try ServiceConfiguration(contentsOf: path, environment: [:])
        let file = try #require(SyncConfigFile(of: configuration, serviceFile: path, environment: [:]))
        #expect(try file.read().text == "one")
        try Data(text("two").utf8).write(to: URL(filePath: path))
        #expect(try file.read().text == "two")
        let labelled = text("two").replacing("content:", with: "version_label: release 7, content:")
        let unlabelled = try file.read()
        try Data(labelled.utf8).write(to: URL(filePath: path))
        #expect(try file.read().versionLabel == "release 7")
        #expect(try file.read().isSame(as: file.read()))
        #expect(try !file.read().isSame(as: unlabelled))
        try Data("replication: {}".utf8).write(to: URL(filePath: path))
        #expect(throws: ServiceError.self) { try file.read() }
    }
}
