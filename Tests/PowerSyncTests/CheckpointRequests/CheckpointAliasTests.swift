import PowerSync
import Testing

/// Names of later versions of the established SDK.
@Suite struct CheckpointAliasTests {
    private struct Request: CheckpointRequest {
        let hasSynced: Bool

        func waitForSync() async throws {
            throw CheckpointWaitError.disconnected
        }
    }

    @Test(arguments: [false, true]) func aRequestIsSyncedWhenItHasSynced(hasSynced: Bool) {
        #expect(Request(hasSynced: hasSynced).isSynced == hasSynced)
    }

    @Test func anErrorIsCaughtByItsOtherName() async throws {
        let database = PowerSyncDatabase(schema: Schema(), dbFilename: ":memory:")
        do {
            _ = try await database.requestCheckpoint()
            Issue.record("A checkpoint was requested without a connection")
        } catch CheckPointRequestError.notConnected {
            // As it should be.
        }
        do {
            try await Request(hasSynced: false).waitForSync(timeout: 1)
            Issue.record("There was a checkpoint")
        } catch CheckpointWaitError.syncStatusClosed {
            // As it should be.
        }
        try await database.close()
    }

    private func name(of error: CheckpointRequestError) -> String {
        switch error {
        case .notConnected: "notConnected"
        case .instanceNotSupported: "instanceNotSupported"
        default: "other"
        }
    }

    @Test func othersAreNotMistakenForIt() {
        #expect(name(of: .notConnecting) == "notConnected")
        #expect(name(of: .instanceNotSupported) == "instanceNotSupported")
        #expect(name(of: .checkpointRequestsNotEnabled) == "other")
        #expect(name(of: .operationFailed()) == "other")
        #expect(CheckpointWaitError.syncStatusClosed != .timeout)
    }

    @Test func aRefusedTokenIsToldApart() {
        #expect(CheckPointRequestError.unauthenticated(message: "expired").isUnauthenticated)
        #expect("\(CheckPointRequestError.unauthenticated(message: "expired"))".contains("expired"))
        #expect(!CheckPointRequestError.operationFailed(message: "expired").isUnauthenticated)
        #expect(!CheckPointRequestError.notConnected.isUnauthenticated)
    }
}
