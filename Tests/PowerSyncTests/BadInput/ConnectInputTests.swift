import Foundation
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import PowerSyncTesting
import Testing

@testable import PowerSyncClient

/// What an app may pass when it connects: an error at the call, and no connection.
@Suite(.timeLimit(.minutes(1))) struct ConnectInputTests {
    private let harness = SyncHarness()

    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var options: ConnectOptions
    }

    static let bad =
        [-1.0, -.infinity, .nan].flatMap { seconds in
            [
                Case(testDescription: "crudThrottle \(seconds)", options: ConnectOptions(crudThrottle: seconds)),
                Case(testDescription: "retryDelay \(seconds)", options: ConnectOptions(retryDelay: seconds)),
            ]
        } + [
            Case(
                testDescription: "checkpointRequestRetryDelay",
                options: ConnectOptions(checkpointMode: .requests(checkpointRequestRetryDelay: .nan))
            ),
            Case(testDescription: "NaN in params", options: ConnectOptions(params: ["a": .double(.nan)])),
            Case(
                testDescription: "params of 1 MB",
                options: ConnectOptions(params: ["a": .string(String(repeating: "x", count: 1_000_000))])
            ),
            Case(
                testDescription: "nested params",
                options: ConnectOptions(params: ["a": (0..<200).reduce(.null) { value, _ in .array([value]) }])
            ),
            Case(
                testDescription: "appMetadata of 1 MB",
                options: ConnectOptions(appMetadata: ["a": String(repeating: "x", count: 1_000_000)])
            ),
        ]

    static let unusual = [
        Case(testDescription: "no times", options: ConnectOptions(crudThrottle: 0, retryDelay: 0)),
        Case(testDescription: "long times", options: ConnectOptions(crudThrottle: .infinity, retryDelay: 1e300)),
        Case(
            testDescription: "short times",
            options: ConnectOptions(crudThrottle: .leastNonzeroMagnitude, retryDelay: .leastNonzeroMagnitude)
        ),
        Case(
            testDescription: "negative delay of requests",
            options: ConnectOptions(checkpointMode: .requests(checkpointRequestRetryDelay: -.infinity))
        ),
        Case(
            testDescription: "NUL in texts",
            options: ConnectOptions(params: ["\0": .string("\0")], appMetadata: ["\0": ""])
        ),
    ]

    @Test(arguments: bad) func badOptionsAreRefused(_ test: Case) async throws {
        await #expect(throws: PowerSyncError.self) { try await harness.connect(test.options) }
        await #expect(throws: PowerSyncError.self) {
            try await harness.database.syncOnce(
                connector: harness.connector,
                options: test.options,
                deadline: .seconds(1)
            )
        }
        #expect(harness.connector.fetches == 0)
        #expect(!harness.database.currentStatus.connecting)
    }

    /// What runs goes on.
    @Test func badOptionsDoNotEndAConnection() async throws {
        let stream = try await harness.connectAndAccept()
        await #expect(throws: PowerSyncError.self) { try await harness.connect(ConnectOptions(retryDelay: .nan)) }
        #expect(harness.database.currentStatus.connected)
        #expect(!stream.isClosed)
    }

    @Test(arguments: unusual) func unusualOptionsAreFine(_ test: Case) async throws {
        let stream = try await harness.connectAndAccept(test.options)
        #expect(stream.request.appMetadata == test.options.appMetadata)
        try await harness.database.disconnect()
    }

    @Test func aDelayThatIsNoNumberIsTheLeastOne() {
        let delays: [TimeInterval?] = [nil, .nan, -1, 0, 10]
        for delay in delays {
            #expect(CheckpointMode.requests(checkpointRequestRetryDelay: delay).retryInterval == .seconds(10))
        }
        #expect(CheckpointMode.requests(checkpointRequestRetryDelay: 11).retryInterval == .seconds(11))
        #expect(
            CheckpointMode.requests(checkpointRequestRetryDelay: .infinity).retryInterval == .seconds(365 * 86_400)
        )
    }

    @Test(arguments: [(35_536, true), (35_537, false)])
    func namesAndValuesOfMetadataMayHave64KiB(bytes: Int, isValid: Bool) {
        let name = String(repeating: "n", count: 30_000)
        let options = ConnectOptions(appMetadata: [name: String(repeating: "v", count: bytes)])
        #expect(((try? options.validate()) != nil) == isValid)
    }

    @Test(arguments: [Duration.seconds(-1), .seconds(Int64.min)])
    func negativeDeadlinesAreRefused(_ deadline: Duration) async throws {
        await #expect(throws: PowerSyncError.self) {
            try await harness.database.syncOnce(connector: harness.connector, deadline: deadline)
        }
        #expect(harness.connector.fetches == 0)
    }

    @Test func theLongestDeadlineIsAYear() async throws {
        let task = Task { [harness] in
            try await harness.database.syncOnce(connector: harness.connector, deadline: .seconds(Int64.max))
        }
        try await harness.acceptNext().send(.checkpoint(1), .done)
        #expect(try await task.value.isComplete)
    }

    @Test(arguments: [Int32.min, -1]) func negativePrioritiesAreNotWaitedFor(_ priority: Int32) async throws {
        await #expect(throws: PowerSyncError.self) { try await harness.database.waitForFirstSync(priority: priority) }
    }

    @Test(arguments: [0.0, -1, .nan, -.infinity]) func aCheckpointIsNotWaitedForWithoutTime(
        _ timeout: Double
    ) async throws {
        try await harness.connect(ConnectOptions(checkpointMode: .requests()))
        _ = try await harness.acceptNext()
        try await harness.service.nextCheckpointRequest().respond(1)
        async let request = harness.database.requestCheckpoint()
        try await harness.service.nextCheckpointRequest().respond(2)
        let accepted = try await request
        await #expect(throws: CheckpointWaitError.self) { try await accepted.waitForSync(timeout: timeout) }
    }

    @Test(arguments: [
        "", "not a url", "ftp://sync.test", "https://", "\0", String(repeating: "x", count: 1_000_000),
    ])
    func badEndpointsAreErrorsOfTheConnection(_ endpoint: String) async throws {
        harness.connector.onFetch { _ in PowerSyncCredentials(endpoint: endpoint, token: "t") }
        try await harness.connect()
        try await harness.wait { $0.lastDownloadError != nil }
        #expect(!harness.database.currentStatus.connected)
    }
}
