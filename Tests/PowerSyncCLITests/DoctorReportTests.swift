import PowerSyncService
import Testing

@testable import PowerSyncCLI

/// What `powersync doctor` prints.
@Suite struct DoctorReportTests {
    private static let findings = [
        DoctorFinding(level: .ok, area: .ports, message: "port 8080 is free"),
        DoctorFinding(
            level: .warning,
            area: .syncConfig,
            place: "sync.yaml:4",
            message: "odd",
            remedy: "Write something else."
        ),
        DoctorFinding(level: .error, area: .source, message: "two lines\n  of it", code: "PSYNC_S1141"),
    ]

    @Test func peopleGetALineForEachFindingAndWhatToDoBelow() {
        #expect(
            DoctorReport(findings: Self.findings).lines == [
                "ok       ports          port 8080 is free",
                "warning  sync config    sync.yaml:4: odd",
                "         Write something else.",
                "error    source         two lines [PSYNC_S1141]",
                "           of it",
                "Errors: 1, warnings: 1.",
            ]
        )
        #expect(DoctorReport(findings: []).lines == ["Nothing is wrong."])
        #expect(
            DoctorReport(findings: Array(Self.findings[0...1])).lines.last
                == "Nothing keeps the service from working; warnings: 1."
        )
    }

    @Test func toolsGetTheSame() throws {
        let json = try DoctorReport(findings: [Self.findings[1]]).json()
        for text in [#""errors" : 0"#, #""warnings" : 1"#, #""area" : "sync_config""#, #""place" : "sync.yaml:4""#] {
            #expect(json.contains(text), "\(json)")
        }
        #expect(!json.contains("code"))
    }
}
