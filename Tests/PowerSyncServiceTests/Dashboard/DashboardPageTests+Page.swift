import Foundation
import PowerSyncProtocol
import RunningServiceTestSupport
import ServiceTestSupport
import Testing

@testable import PowerSyncService

/// What is on the page, and what people do with it.
extension DashboardPageTests {
    /// The cells of a table, row by row.
    static func rows(_ table: String, _ browser: Browser) async throws -> [[String]] {
        let expression = """
            [...document.getElementById('\(table)').tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.textContent))
            """
        guard case .array(let rows) = try await browser.value(expression) else { return [] }
        return rows.map { row in
            guard case .array(let cells) = row else { return [] }
            return cells.map { if case .string(let text) = $0 { text } else { "?" } }
        }
    }

    /// The facts of a list.
    static func facts(_ list: String, _ browser: Browser) async throws -> [String: String] {
        let expression = """
            Object.fromEntries([...document.getElementById('\(list)').children].map((fact) =>
              [fact.children[0].textContent, fact.children[1].firstChild.textContent]))
            """
        guard case .object(let facts) = try await browser.value(expression) else { return [:] }
        return Dictionary(facts.members.map { ($0.name, facts.text($0.name) ?? "") }) { $1 }
    }

    /// A size as the page writes it, of less than a mebibyte.
    static func bytes(_ number: Int64) -> String {
        let format = FloatingPointFormatStyle<Double>.number.precision(.significantDigits(1...3))
            .locale(Locale(identifier: "en_US"))
        return number < 1024
            ? "\(Double(number).formatted(format)) bytes" : "\((Double(number) / 1024).formatted(format)) KiB"
    }

    /// The sizes of a list of the API, as the page writes them.
    static func sizes(_ list: String, of answer: JSONObject) -> [String] {
        answer.objects(list).map { bytes(Int64($0.text("bytes") ?? "") ?? -1) }
    }

    /// Keeps pictures in some appearances, or in all.
    static func takePictures(
        _ name: String,
        _ browser: Browser,
        _ appearances: [String] = Browser.Appearance.all.map(\.name)
    ) async throws {
        for appearance in Browser.Appearance.all where appearances.contains(appearance.name) {
            try await browser.show(appearance)
            // Nothing sticks out at the side.
            #expect(
                try await browser.value("document.documentElement.scrollWidth <= innerWidth") == .bool(true),
                "\(appearance.name)"
            )
            try await browser.takePicture("\(name)-\(appearance.name)")
        }
    }

    /// Signs in as somebody without a mouse.
    static func signIn(
        _ browser: Browser,
        _ scenario: ServiceScenario,
        token: String = AdminScenario.token
    ) async throws {
        try await browser.open(scenario.address.url + "/dashboard")
        try await browser.wait(until: "document.activeElement.id == 'token'")
        // The page asks without a token first, and the browser says that it was refused.
        #expect(browser.problems.allSatisfy { $0.contains("status of 401") }, "\(browser.problems)")
        browser.forgetProblems()
        try await browser.type(token)
        try await browser.press("Enter", text: "\r")
    }

    /// Lets the page that is opened next hear what ``tell(_:_:)`` tells, in place of the snapshots of its service.
    static func tellSnapshots(_ browser: Browser) async throws {
        try await browser.send(
            "Page.addScriptToEvaluateOnNewDocument",
            [
                "source": """
                const ask = globalThis.fetch;
                globalThis.fetch = async (address, options) => {
                  const answer = await ask(address, options);
                  if (!answer.ok || !String(address).endsWith('/dashboard/events')) return answer;
                  answer.body.cancel();
                  return new Response(new ReadableStream({
                    start: (told) => {
                      globalThis.tell = (snapshot) => told.enqueue(new TextEncoder().encode(`data: ${snapshot}\\n\\n`));
                    },
                  }));
                };
                """
            ]
        )
    }

    /// Tells the page what its service does.
    static func tell(_ snapshot: ServiceSnapshot, _ browser: Browser) async throws {
        let text = String(decoding: try JSONEncoder.forAnswers.encode(snapshot), as: UTF8.self)
        _ = try await browser.value("tell(\(ExactJSON.string(text).text))")
    }

    /// Asks what a user gets.
    static func look(_ browser: Browser, user: String) async throws {
        _ = try await browser.value("document.getElementById('user-id').focus()")
        _ = try await browser.value("document.getElementById('user-id').value = ''")
        try await browser.type(user)
        try await browser.press("Enter", text: "\r")
        try await browser.wait(until: "document.getElementById('user-tables')")
    }
}
