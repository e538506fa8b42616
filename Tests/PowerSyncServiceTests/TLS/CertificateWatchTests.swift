import Foundation
import NIOConcurrencyHelpers
import RunningServiceTestSupport
import PowerSyncTesting
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncService
@testable import PowerSyncServiceCore

/// Files of a certificate that change while a service runs (docs/operating.md "TLS").
@Suite(.timeLimit(.minutes(1))) struct CertificateWatchTests {
    /// Files, who watches them, and the time.
    private final class Scenario: Sendable {
        let folder: TemporaryFolder
        let certificate: ServerCertificate
        let clock = TestClock()
        let log = CollectedLog()
        let looks: RegularLooks
        private let date: NIOLockedValueBox<Date>

        init(now: Date = Date()) throws {
            folder = try TemporaryFolder()
            certificate = try ServerCertificate(try TLSFiles(in: folder), now: now)
            looks = RegularLooks(interval: CertificateWatch.interval, clock: clock)
            date = NIOLockedValueBox(now)
        }

        var context: ObjectIdentifier { ObjectIdentifier(certificate.current.context) }

        func setNow(_ now: Date) { date.withLockedValue { $0 = now } }

        func watching(_ body: @escaping @Sendable () async throws -> Void) async throws {
            let watch = CertificateWatch(
                certificate,
                looks: looks,
                now: { self.date.withLockedValue { $0 } },
                logger: log.logger
            )
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await watch.run() }
                try await self.clock.nextTimerScheduled()
                try await body()
                group.cancelAll()
            }
        }

        /// Lets the watch look once.
        func look() async throws {
            clock.advance(by: CertificateWatch.interval)
            try await clock.nextTimerScheduled()
        }

        func renew() throws {
            _ = try TLSFiles(
                in: folder,
                certificate: LoopbackCertificates.elsewhere,
                key: LoopbackCertificates.elsewhereKey
            )
        }
    }

    @Test func renewedFilesAreTakenUpWhenTheyAreLeftAlone() async throws {
        let scenario = try Scenario()
        let before = scenario.context
        try await scenario.watching {
            for _ in 0..<3 { try await scenario.look() }
            #expect(scenario.context == before)
            try scenario.renew()
            try await scenario.look()
            #expect(scenario.context == before)
            try await scenario.look()
            #expect(scenario.context != before)
            #expect(scenario.log.lines.filter { $0.contains("The certificate has been read") }.count == 1)
            let after = scenario.context
            for _ in 0..<3 { try await scenario.look() }
            #expect(scenario.context == after)
        }
    }

    @Test func onRequestTheyAreReadAtOnce() async throws {
        let scenario = try Scenario()
        let before = scenario.context
        try await scenario.watching {
            scenario.looks.ask()
            _ = try await scenario.log.line(containing: "The certificate has been read")
            #expect(scenario.context != before)
        }
    }

    @Test func whatCannotBeUsedIsReportedAndTheOldOneStays() async throws {
        let scenario = try Scenario()
        let before = scenario.context
        try await scenario.watching {
            // The certificate without its key, as when the first of the two files has been replaced.
            try LoopbackCertificates.elsewhere.write(
                toFile: scenario.certificate.files.certificate,
                atomically: true,
                encoding: .utf8
            )
            for _ in 0..<4 { try await scenario.look() }
            let errors = scenario.log.lines.filter { $0.hasPrefix("error") }
            #expect(errors.count == 1)
            #expect(errors.first?.contains("does not go with the certificate") == true, "\(errors)")
            #expect(scenario.context == before)
            // Its key follows.
            try scenario.renew()
            for _ in 0..<2 { try await scenario.look() }
            #expect(scenario.context != before)
        }
    }

    @Test func anExpiredOneIsReportedAndTheOldOneStays() async throws {
        let scenario = try Scenario()
        let before = scenario.context
        try await scenario.watching {
            scenario.setNow(Date(timeIntervalSince1970: 5_000_000_000))
            scenario.looks.ask()
            let line = try await scenario.log.line(containing: "The new certificate cannot be used")
            #expect(line.contains("was valid until"))
            #expect(scenario.context == before)
        }
    }

    @Test func whatIsWrongOutsideOfTheFilesIsTriedAgainAndReportedOnce() async throws {
        let scenario = try Scenario()
        let before = scenario.context
        let validity = scenario.certificate.current.validity
        try await scenario.watching {
            // The clock of the machine is behind at first: the new files stay as they are.
            scenario.setNow(validity.begin.addingTimeInterval(-3600))
            try scenario.renew()
            for _ in 0..<6 { try await scenario.look() }
            #expect(scenario.context == before)
            let errors = scenario.log.lines.filter { $0.contains("The new certificate cannot be used") }
            #expect(errors.count == 1, "\(errors)")
            scenario.setNow(Date())
            for _ in 0..<2 { try await scenario.look() }
            #expect(scenario.context != before)
        }
    }

    @Test func filesThatAreReplacedBeforeTheFirstLookAreTakenUp() async throws {
        let scenario = try Scenario()
        let before = scenario.context
        // As while the storage is being opened.
        try scenario.renew()
        try await scenario.watching {
            for _ in 0..<2 { try await scenario.look() }
            #expect(scenario.context != before)
        }
    }

    @Test func aFileThatIsGoneIsReportedOnce() async throws {
        let scenario = try Scenario()
        try await scenario.watching {
            try FileManager.default.removeItem(atPath: scenario.certificate.files.privateKey)
            for _ in 0..<3 { try await scenario.look() }
            #expect(scenario.log.lines.filter { $0.contains("A file of the certificate is gone") }.count == 1)
        }
    }

    @Test func anEndThatComesNearIsLoggedOnceADay() async throws {
        let end = try Scenario().certificate.current.validity.end
        let scenario = try Scenario(now: end.addingTimeInterval(-15 * 24 * 3600))
        @Sendable func warnings() -> [String] { scenario.log.lines.filter { $0.contains("has to be renewed") } }
        try await scenario.watching {
            try await scenario.look()
            #expect(warnings().isEmpty)
            scenario.setNow(end.addingTimeInterval(-13.5 * 24 * 3600))
            for _ in 0..<3 { try await scenario.look() }
            #expect(warnings().count == 1)
            #expect(warnings().first?.hasPrefix("warning") == true)
            scenario.setNow(end.addingTimeInterval(-12.4 * 24 * 3600))
            for _ in 0..<3 { try await scenario.look() }
            #expect(warnings().count == 2)
            scenario.setNow(end.addingTimeInterval(3600 * 24))
            try await scenario.look()
            #expect(scenario.log.lines.contains { $0.hasPrefix("error The certificate is not valid") })
        }
    }

    @Test func theEndIsReportedAlsoRightAfterAWarning() async throws {
        let end = try Scenario().certificate.current.validity.end
        let scenario = try Scenario(now: end.addingTimeInterval(-3600))
        try await scenario.watching {
            try await scenario.look()
            #expect(scenario.log.lines.filter { $0.contains("has to be renewed") }.count == 1)
            scenario.setNow(end.addingTimeInterval(60))
            for _ in 0..<3 { try await scenario.look() }
            #expect(scenario.log.lines.filter { $0.hasPrefix("error The certificate is not valid") }.count == 1)
        }
    }
}
