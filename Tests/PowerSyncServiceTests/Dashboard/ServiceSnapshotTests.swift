import Testing

@testable import PowerSyncService
@testable import PowerSyncServiceCore

@Suite struct ServiceSnapshotTests {
    @Test func whatAClientSaysIsCutWhateverItsCharactersAre() {
        // One character for people.
        let endless = "e" + String(repeating: "\u{301}", count: 30_000)
        let report = ClientStreamReport(
            id: 1,
            client: StreamClient(userID: endless, clientID: endless, userAgent: endless),
            openedAt: 0,
            operations: 0,
            bytes: 0,
            progress: ClientStreamProgress(),
            activity: .reading,
            activeSince: 0
        )
        let shown = ServiceSnapshot.Client(report)
        for text in [shown.user, shown.client ?? "", shown.agent] { #expect(text.utf8.count <= 800) }
    }
}
