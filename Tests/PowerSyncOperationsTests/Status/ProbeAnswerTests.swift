import PowerSyncServiceCore
import RunningServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncOperations
@testable import PowerSyncService

/// What `powersync health` prints of a service.
@Suite(.timeLimit(.minutes(1))) struct ProbeAnswerTests {
    private struct Case: CustomTestStringConvertible {
        var question: ProbeAnswer.Question
        var status: Int
        var body: String
        var isHealthy: Bool
        var line: String
        var testDescription: String { line }
    }

    @Test(
        arguments: [
            Case(
                question: .liveness,
                status: 200,
                body: #"{"ready":false}"#,
                isHealthy: true,
                line: "http://h:1 is alive"
            ),
            Case(
                question: .liveness,
                status: 400,
                body: #"{"ready":true}"#,
                isHealthy: false,
                line: "http://h:1 is not alive"
            ),
            Case(
                question: .startup,
                status: 200,
                body: #"{"ready":true}"#,
                isHealthy: true,
                line: "http://h:1 is started"
            ),
            Case(
                question: .readiness,
                status: 400,
                body: #"{"ready":false,"problems":["The disk","a\u001b[31m"]}"#,
                isHealthy: false,
                line: "http://h:1 is not ready: The disk; a[31m"
            ),
            // What is wrong does not make a process one to start again.
            Case(
                question: .liveness,
                status: 200,
                body: #"{"ready":false,"problems":["The disk"]}"#,
                isHealthy: true,
                line: "http://h:1 is alive"
            ),
            Case(
                question: .readiness,
                status: 200,
                body: "<html>",
                isHealthy: false,
                line: "http://h:1 answers with status 200 and no probe: another program has the port"
            ),
        ]
    )
    private func anAnswerIsOneLine(_ tested: Case) {
        let answer = ProbeAnswer(to: tested.question, at: "http://h:1", status: tested.status, body: tested.body)
        #expect(answer.isHealthy == tested.isHealthy)
        #expect(answer.line == tested.line)
    }

    @Test(arguments: [false, true])
    func aRunningServiceIsHealthy(speaksTLS: Bool) async throws {
        let folder = try TemporaryFolder()
        let files = speaksTLS ? try TLSFiles(in: folder) : nil
        try await ServiceScenario.run(in: folder) {
            $0.tls = files
        } _: { scenario in
            var configuration = scenario.service.configuration
            configuration.port = scenario.address.port
            for question in ProbeAnswer.Question.allCases {
                let answer = try await ProbeAnswer(to: question, of: configuration)
                #expect(answer.isHealthy, "\(answer.line)")
            }
        }
    }

    @Test func aServiceThatIsNotThereIsNotHealthy() async throws {
        let folder = try TemporaryFolder()
        var configuration = ServiceScenario.configuration(in: folder)
        // The port of a service that has ended.
        try await ServiceScenario.run { configuration.port = $0.address.port }
        let answer = try await ProbeAnswer(to: .readiness, of: configuration)
        #expect(!answer.isHealthy)
        #expect(answer.line.hasPrefix("http://127.0.0.1:\(configuration.port) does not answer: "))
    }

    @Test func probesThatAreOffAreSaid() async throws {
        var configuration = ServiceScenario.configuration(in: try TemporaryFolder())
        configuration.probes.useHTTP = false
        do {
            let answer = try await ProbeAnswer(to: .liveness, of: configuration)
            Issue.record("\(answer.line)")
        } catch let error as ServiceError {
            #expect(error.key == "healthcheck.probes.use_http")
        }
    }
}
