import PowerSyncProtocol
import PowerSyncServiceCore
import Testing

@testable import PowerSyncOperations

/// What `powersync doctor` prints.
@Suite struct DoctorReportTests {
    private static let findings = [
        Finding(.ok, .ports, "port 8080 is free"),
        Finding(
            .warning,
            .syncConfig,
            place: .init(location: "sync.yaml", line: 4),
            "odd",
            remedy: "Write something else."
        ),
        Finding(.error, .source, code: .connectionLimit, "two lines\n  of it"),
    ]

    @Test func peopleGetALineForEachFindingAndWhatToDoBelow() {
        #expect(
            DoctorReport(findings: Self.findings).lines == [
                "ok       ports          port 8080 is free",
                "warning  sync config    sync.yaml:4: odd",
                "         Write something else.",
                "error    source         two lines [PSYNC_S2304]",
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
