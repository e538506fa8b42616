import Dispatch
import Foundation
import PowerSyncProtocol
import ServiceTestSupport
import TestSupport

/// A real Chromium without windows, driven by the DevTools protocol over two pipes: messages are JSON, each ended by a zero.
///
/// One command is sent at a time; what the browser reports meanwhile is kept in ``problems``.
final class Browser {
    /// The program, if it is installed.
    static let program =
        (["POWERSYNC_CHROMIUM"].compactMap { ProcessInfo.processInfo.environment[$0] }
        + ["chromium", "chromium-browser", "google-chrome"].map { "/usr/bin/" + $0 })
        .first { FileManager.default.isExecutableFile(atPath: $0) }

    /// Whether tests are to do without: who has no browser says so.
    static let isUnwanted = ProcessInfo.processInfo.environment["POWERSYNC_NO_BROWSER"] != nil

    /// What went wrong.
    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    private let process = Process()
    private let input = Pipe()
    private var messages: AsyncStream<String>.AsyncIterator
    private let folder: TemporaryFolder
    private var lastID: Int64 = 0
    private var session: String?
    /// Errors of scripts, refused contents, and files that could not be loaded.
    private(set) var problems: [String] = []

    /// Starts a browser with one empty page.
    init() async throws {
        guard let program = Self.program else {
            throw Failure(
                description: """
                    There is no Chromium: scripts/install-system-packages installs it on Debian; POWERSYNC_CHROMIUM names \
                    another one, POWERSYNC_NO_BROWSER=1 leaves out the tests that need one.
                    """
            )
        }
        folder = try TemporaryFolder()
        let output = Pipe()
        process.executableURL = URL(filePath: "/bin/sh")
        // The browser reads commands from 3 and writes to 4, and speaks to nobody else.
        process.arguments = [
            "-c", #"exec 3<&0 4>&1 0</dev/null 1>/dev/null 2>&1; exec "$0" "$@""#, program, "--headless=new",
            "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--disable-extensions", "--disable-background-networking", "--disable-component-update",
            "--hide-scrollbars",
            "--no-proxy-server", "--lang=en", "--user-data-dir=\(folder.path("profile"))", "about:blank",
        ]
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        messages = Self.messages(output.fileHandleForReading).makeAsyncIterator()
        try process.run()
        let page = try await send("Target.createTarget", ["url": "about:blank"])
        let attached = try await send(
            "Target.attachToTarget",
            ["targetId": .string(page.text("targetId") ?? ""), "flatten": true]
        )
        session = attached.text("sessionId")
        for domain in ["Page", "Runtime", "Log", "Network"] { _ = try await send(domain + ".enable") }
    }

    deinit {
        if process.isRunning { process.terminate() }
        try? input.fileHandleForWriting.close()
    }

    private static func messages(_ handle: FileHandle) -> AsyncStream<String> {
        let (messages, continuation) = AsyncStream.makeStream(of: String.self)
        DispatchQueue(label: "messages of a browser").async {
            var rest = Data()
            while case let data = handle.availableData, !data.isEmpty {
                rest.append(data)
                while let end = rest.firstIndex(of: 0) {
                    continuation.yield(String(decoding: rest[rest.startIndex..<end], as: UTF8.self))
                    rest = Data(rest[(end + 1)...])
                }
            }
            continuation.finish()
        }
        return messages
    }

    // MARK: Commands

    /// Sends a command and waits for its result.
    @discardableResult
    func send(_ method: String, _ parameters: JSONObject = [:]) async throws -> JSONObject {
        lastID += 1
        let id = lastID
        var command: JSONObject = [
            "id": .integer(id), "method": .string(method), "params": .object(parameters),
        ]
        if let session { command["sessionId"] = .string(session) }
        try input.fileHandleForWriting.write(contentsOf: Data(command.text.utf8) + [0])
        while let text = await messages.next(isolation: #isolation) {
            let message = try JSONObject(parsing: text)
            guard message["id"] == .integer(id) else {
                note(message)
                continue
            }
            if message["error"] != nil { throw Failure(description: "\(method): \(message.object("error").text)") }
            return message.object("result")
        }
        throw Failure(description: "the browser has ended; its program is \(Self.program ?? "?")")
    }

    private func note(_ event: JSONObject) {
        let parameters = event.object("params")
        switch event.text("method") {
        case "Runtime.exceptionThrown": problems.append(parameters.object("exceptionDetails").text)
        case "Runtime.consoleAPICalled" where parameters.text("type") != "log": problems.append(parameters.text)
        case "Log.entryAdded": problems.append(parameters.object("entry").text)
        default: break
        }
    }

    /// Forgets problems that are expected.
    func forgetProblems() {
        problems = []
    }

    /// Shows another page, and waits until its script runs.
    func open(_ address: String) async throws {
        try await send("Page.navigate", ["url": .string(address)])
        try await wait(
            until: "location.href.startsWith(\(ExactJSON.string(address).text)) && document.readyState == 'complete'"
        )
    }

    /// The value of an expression.
    func value(_ expression: String) async throws -> ExactJSON {
        let answer = try await send(
            "Runtime.evaluate",
            ["expression": .string(expression), "awaitPromise": true, "returnByValue": true]
        )
        if answer["exceptionDetails"] != nil {
            throw Failure(description: "\(expression): \(answer.object("exceptionDetails").text)")
        }
        return answer.object("result")["value"] ?? .null
    }

    /// The text of an expression.
    func text(_ expression: String) async throws -> String {
        switch try await value(expression) {
        case .string(let text): text
        case let value: value.text
        }
    }

    /// Waits until an expression is true; it is looked at whenever the page changes.
    func wait(until expression: String) async throws {
        let script = """
            new Promise((resolve) => {
              const isTrue = () => { try { return Boolean(\(expression)); } catch { return false; } };
              const observer = new MutationObserver(() => check());
              const check = () => { if (isTrue()) { observer.disconnect(); resolve(true); } };
              observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
              addEventListener("load", check);
              check();
            })
            """
        while true {
            do {
                _ = try await value(script)
                return
            } catch let failure as Failure
                where failure.description.contains("context was destroyed")
                || failure.description.contains("Promise was collected")
            {
                // Another page has come: it is looked at there.
            }
        }
    }

    /// Types into the element with the focus, as a person does.
    func type(_ text: String) async throws {
        try await send("Input.insertText", ["text": .string(text)])
    }

    /// Presses a key.
    func press(_ key: String, text: String? = nil) async throws {
        let code: ExactJSON = key == "Tab" ? 9 : 13
        var event: JSONObject = [
            "type": "keyDown", "key": .string(key), "code": .string(key), "windowsVirtualKeyCode": code,
        ]
        if let text { event["text"] = .string(text) }
        try await send("Input.dispatchKeyEvent", event)
        event["type"] = "keyUp"
        event["text"] = nil
        try await send("Input.dispatchKeyEvent", event)
    }

    // MARK: Pictures

    /// How the page is looked at.
    struct Appearance {
        var name: String
        var width: Int64
        var isDark = false

        static let all = [
            Appearance(name: "light", width: 1280), Appearance(name: "dark", width: 1280, isDark: true),
            Appearance(name: "phone", width: 390), Appearance(name: "phone-dark", width: 390, isDark: true),
        ]
    }

    /// Looks at the page differently from now on.
    func show(_ appearance: Appearance) async throws {
        try await send(
            "Emulation.setDeviceMetricsOverride",
            [
                "width": .integer(appearance.width), "height": 900, "deviceScaleFactor": 1,
                "mobile": .bool(appearance.width < 500),
            ]
        )
        let scheme: JSONObject = [
            "name": "prefers-color-scheme", "value": .string(appearance.isDark ? "dark" : "light"),
        ]
        try await send("Emulation.setEmulatedMedia", ["features": .array([.object(scheme)])])
    }

    /// Keeps a picture of the whole page in `.build/screenshots`.
    func takePicture(_ name: String) async throws {
        let picture = try await send(
            "Page.captureScreenshot",
            ["captureBeyondViewport": true, "clip": .object(try await area())]
        )
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let folder = root.appending(path: ".build/screenshots")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        guard let data = Data(base64Encoded: picture.text("data") ?? "") else {
            throw Failure(description: "no picture")
        }
        try data.write(to: folder.appending(path: name + ".png"))
    }

    private func area() async throws -> JSONObject {
        let size = try await send("Page.getLayoutMetrics").object("cssContentSize")
        return [
            "x": 0, "y": 0, "scale": 1, "width": size["width"] ?? 0, "height": size["height"] ?? 0,
        ]
    }
}
