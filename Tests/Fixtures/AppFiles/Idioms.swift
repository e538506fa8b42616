// What files of apps say with Foundation and the standard library, beside `import PowerSync`. A module that PowerSync makes visible
// without need makes some of it ambiguous.
import Foundation
import PowerSync

// MARK: - Initialisers and methods as functions

func references(_ text: String?, _ texts: [String], _ numbers: [Int], _ data: Data?) {
    let uuid = text.flatMap(UUID.init)
    let uuids = texts.compactMap(UUID.init)
    let namedUUIDs = texts.compactMap(UUID.init(uuidString:))
    let url = text.flatMap(URL.init)
    let urls = texts.compactMap(URL.init)
    let namedURLs = texts.compactMap(URL.init(string:))
    let files = texts.map(URL.init(fileURLWithPath:))
    let ints = texts.compactMap(Int.init)
    let doubles = texts.compactMap(Double.init)
    let floats = texts.compactMap(Float.init)
    let bools = texts.compactMap(Bool.init)
    let longs = texts.compactMap(Int64.init)
    let strings = numbers.map(String.init)
    let described = numbers.map(String.init(describing:))
    let characters = texts.flatMap(Array.init)
    let sets = texts.map(Set.init)
    let utf8 = texts.map { Data($0.utf8) }
    let components = texts.compactMap(URLComponents.init(string:))
    let dates = numbers.map(Double.init).map(Date.init(timeIntervalSince1970:))
    let text8 = data.flatMap { String(data: $0, encoding: .utf8) }
    let decoded = data.map { String(decoding: $0, as: UTF8.self) }
    let base64 = texts.compactMap { Data(base64Encoded: $0) }
    let sizes = texts.map(\.count)
    let upper = texts.map { $0.uppercased() }
    let lowered = texts.map(\.localizedLowercase)
    let optional = text.map(\.count)
    let wrapped = numbers.map(Optional.init)
    let locales = texts.map(Locale.init(identifier:))
    let zones = texts.compactMap(TimeZone.init(identifier:))
    let predicates = texts.map(CharacterSet.init(charactersIn:))
    let indices = texts.indices.map(IndexPath.init(index:))
    let numbersOfCocoa = numbers.map(NSNumber.init(value:))
    let queries = texts.map { URLQueryItem(name: $0, value: nil) }
    let requests = urls.map { URL.init(string: "a", relativeTo: $0) }
    let bytes = texts.map { [UInt8]($0.utf8) }
    let scalars = numbers.compactMap { UnicodeScalar($0) }
    let errors = texts.map { NSError(domain: $0, code: 1) }
    print(uuid as Any, uuids, namedUUIDs, url as Any, urls, namedURLs, files, ints, doubles, floats, bools, longs)
    print(strings, described, characters, sets, utf8, components, dates, text8 as Any, decoded as Any, base64)
    print(sizes, upper, lowered, optional as Any, wrapped, locales, zones, predicates, indices)
    print(numbersOfCocoa, queries, requests, bytes, scalars, errors)
}

// MARK: - Sequences and collections

func sequences(_ texts: [String], _ numbers: [Int], _ pairs: [String: Int]) {
    let sorted = texts.sorted().reversed().map { $0 }
    let largest = numbers.max()
    let smallest = numbers.min()
    let byLength = texts.max { $0.count < $1.count }
    let sum = numbers.reduce(0, +)
    let joined = texts.joined(separator: ", ")
    let flat = [texts, texts].flatMap { $0 }
    let lazily = texts.lazy.filter { !$0.isEmpty }.map(\.count)
    let first = texts.first { $0.hasPrefix("a") }
    let last = texts.last { $0.hasSuffix("a") }
    let index = texts.firstIndex(of: "a")
    let lastIndex = texts.lastIndex { $0 == "a" }
    let contained = texts.contains("a")
    let all = texts.allSatisfy { !$0.isEmpty }
    let grouped = Dictionary(grouping: texts, by: \.count)
    let keyed = Dictionary(uniqueKeysWithValues: texts.map { ($0, $0.count) })
    let merged = pairs.merging(["a": 1]) { _, new in new }
    let mapped = pairs.mapValues { $0 + 1 }
    let filtered = pairs.filter { $0.value > 1 }
    let compact = pairs.compactMapValues { $0 > 1 ? $0 : nil }
    let reduced = texts.reduce(into: [:]) { counts, text in counts[text, default: 0] += 1 }
    let ordered = pairs.sorted { $0.key < $1.key }.map(\.value)
    let zipped = zip(texts, numbers).map { "\($0) \($1)" }
    let enumerated = texts.enumerated().map { "\($0.offset) \($0.element)" }
    let prefix = texts.prefix(3)
    let prefixWhile = numbers.prefix { $0 > 1 }
    let suffix = texts.suffix(3)
    let dropped = texts.dropFirst().dropLast()
    let dropWhile = numbers.drop { $0 > 1 }
    let split = "a,b".split(separator: ",").map(String.init)
    let pieces = numbers.split { $0 == 1 }.map(Array.init)
    let strides = stride(from: 0, to: 10, by: 2).map { $0 }
    let repeated = repeatElement("a", count: 3).joined()
    let shuffled = numbers.shuffled()
    let random = numbers.randomElement()
    let set = Set(numbers).union([1]).subtracting([2]).sorted()
    let common = Set(numbers).intersection([1]).isSubset(of: [1])
    let range = (0..<numbers.count).map { numbers[$0] }
    let slice = numbers[..<min(2, numbers.count)]
    let elements = numbers.elementsEqual([1, 2])
    let before = numbers.lexicographicallyPrecedes([1, 2])
    let sequence = Array(sequence(first: 1) { $0 < 10 ? $0 * 2 : nil })
    let partition = numbers.partitioned { $0 > 1 }
    let difference = numbers.difference(from: [1]).count
    let trimmedRange = texts.indices.clamped(to: 0..<2)
    let evens = numbers.filter { $0.isMultiple(of: 2) }
    var mutable = numbers
    mutable.swapAt(0, 0)
    mutable.removeAll { $0 > 1 }
    mutable.append(contentsOf: [1, 2])
    mutable.insert(1, at: 0)
    mutable.sort(by: >)
    mutable.reverse()
    mutable.move(fromOffsets: [0], toOffset: 0)
    print(sorted, largest as Any, smallest as Any, byLength as Any, sum, joined, flat, Array(lazily), first as Any)
    print(
        last as Any,
        index as Any,
        lastIndex as Any,
        contained,
        all,
        grouped,
        keyed,
        merged,
        mapped,
        filtered,
        compact
    )
    print(reduced, ordered, zipped, enumerated, prefix, prefixWhile, suffix, dropped, dropWhile, split, pieces, strides)
    print(repeated, shuffled, random as Any, set, common, range, slice, elements, before, sequence, partition)
    print(difference, trimmedRange, evens, mutable)
}

// MARK: - Text, data and dates

func values(_ text: String, _ data: Data, _ date: Date, _ number: Double) throws {
    let trimmed = text.trimmingCharacters(in: .whitespacesAndNewlines)
    let replaced = text.replacingOccurrences(of: "a", with: "b")
    let parts = text.components(separatedBy: ",")
    let range = text.range(of: "a", options: .caseInsensitive)
    let found = text.contains("a")
    let formatted = String(format: "%02d", 1)
    let padded = text.padding(toLength: 3, withPad: " ", startingAt: 0)
    let capitalised = text.capitalized
    let encoded = text.addingPercentEncoding(withAllowedCharacters: .urlQueryAllowed)
    let bytes = text.data(using: .utf8)
    let lines = text.split(whereSeparator: \.isNewline)
    let digits = text.filter(\.isNumber)
    let compared = text.compare("b") == .orderedAscending
    let localised = text.localizedCaseInsensitiveContains("a")
    let hex = data.map { String(format: "%02x", $0) }.joined()
    let base64 = data.base64EncodedString()
    let subdata = data.subdata(in: 0..<data.count)
    let header = data.prefix(4)
    let json = try JSONSerialization.jsonObject(with: data) as? [String: Any]
    let decoded = try JSONDecoder().decode([String: Int].self, from: data)
    let coded = try JSONEncoder().encode(["a": 1])
    let iso = ISO8601DateFormatter().string(from: date)
    let interval = date.timeIntervalSince(.now)
    let later = date.addingTimeInterval(60)
    let tomorrow = Calendar.current.date(byAdding: .day, value: 1, to: date)
    let isToday = Calendar.current.isDateInToday(date)
    let components = Calendar.current.dateComponents([.year, .month], from: date)
    let day = date.formatted(date: .abbreviated, time: .omitted)
    let money = number.formatted()
    let rounded = number.rounded(.up)
    let power = pow(number, 2) + sqrt(number) + floor(number) + ceil(number)
    let size = ByteCountFormatter.string(fromByteCount: 1, countStyle: .file)
    let limits = max(1, min(2, 3)) + abs(-1)
    let clamped = min(max(number, 0), 1)
    let duration = Duration.seconds(1) + .milliseconds(5)
    let measured = Measurement(value: 1, unit: UnitLength.meters)
    let attributed = AttributedString(text)
    let id = UUID().uuidString.lowercased()
    let hash = text.hashValue ^ id.hash
    let regex = try NSRegularExpression(pattern: "a+")
    let matches = regex.numberOfMatches(in: text, range: NSRange(text.startIndex..., in: text))
    let literal = text.firstMatch(of: #/a+/#)?.output
    print(trimmed, replaced, parts, range as Any, found, formatted, padded, capitalised, encoded as Any, bytes as Any)
    print(lines, digits, compared, localised, hex, base64, subdata, header, json as Any, decoded, coded, iso, interval)
    print(later, tomorrow as Any, isToday, components, day, money, rounded, power, size, limits, clamped, duration)
    print(measured, attributed, hash, matches, literal as Any)
}

// MARK: - Files, addresses and settings

func places(_ url: URL) throws {
    let file = url.appendingPathComponent("a").appendingPathExtension("txt")
    let path = url.appending(path: "a/b").path()
    let folder = FileManager.default.temporaryDirectory.appending(component: "a")
    let documents = FileManager.default.urls(for: .documentDirectory, in: .userDomainMask).first
    let exists = FileManager.default.fileExists(atPath: file.path)
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    let content = try Data(contentsOf: file)
    try content.write(to: file, options: .atomic)
    let text = try String(contentsOf: file, encoding: .utf8)
    let name = url.lastPathComponent + url.pathExtension + url.deletingLastPathComponent().absoluteString
    var components = URLComponents(url: url, resolvingAgainstBaseURL: false)
    components?.queryItems = [URLQueryItem(name: "a", value: "b")]
    components?.path = "/a"
    let environment = ProcessInfo.processInfo.environment["HOME"]
    let defaults = UserDefaults.standard.string(forKey: "a")
    let bundle = Bundle.main.url(forResource: "a", withExtension: "json")
    let host = url.host() ?? url.host ?? "" + (url.scheme ?? "")
    print(path, documents as Any, exists, names, text, name, components as Any, environment as Any, defaults as Any)
    print(bundle as Any, host)
}

// MARK: - Concurrency

actor Cache {
    private var values: [String: Int] = [:]
    func value(_ key: String) -> Int? { values[key] }
}

func concurrency(_ numbers: [Int], _ cache: Cache) async throws {
    let sum = await withTaskGroup(of: Int.self) { group in
        for number in numbers { group.addTask { number + 1 } }
        return await group.reduce(0, +)
    }
    let all = try await withThrowingTaskGroup(of: Int.self, returning: [Int].self) { group in
        numbers.forEach { number in group.addTask { number } }
        return try await group.reduce(into: []) { $0.append($1) }
    }
    let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
    continuation.yield(1)
    continuation.finish()
    for await number in stream.map({ $0 + 1 }).filter({ $0 > 1 }).prefix(2) { print(number) }
    let first = await stream.first { $0 > 1 }
    let task = Task { try await Task.sleep(for: .seconds(1)) }
    task.cancel()
    async let cached = cache.value("a")
    let result = await Task { 1 }.result
    let value = result.get()
    let clock = ContinuousClock()
    let elapsed = clock.measure { print(value) }
    let answer: Int = await withCheckedContinuation { $0.resume(returning: 1) }
    await MainActor.run { print(answer) }
    print(sum, all, first as Any, await cached as Any, elapsed)
}

// MARK: - Extensions and types of the app's own

extension Sequence {
    func grouped<Key: Hashable>(by key: (Element) -> Key) -> [Key: [Element]] { Dictionary(grouping: self, by: key) }
    func keyed<Key: Hashable>(by key: (Element) -> Key) -> [Key: Element] { [:] }
    func count(where predicate: (Element) -> Bool) -> Int { filter(predicate).count }
    func compacted<Value>() -> [Value] where Element == Value? { compactMap { $0 } }
    func asyncMap<T>(_ transform: (Element) async -> T) async -> [T] { [] }
    func sum() -> Element where Element: AdditiveArithmetic { reduce(.zero, +) }
    func min(count: Int) -> [Element] where Element: Comparable { Array(sorted().prefix(count)) }
    func partitioned(by isSecond: (Element) -> Bool) -> ([Element], [Element]) { ([], []) }
    func adjacentPairs() -> [(Element, Element)] { [] }
    func striding(by step: Int) -> [Element] { [] }
}

extension Collection {
    subscript(safe index: Index) -> Element? { indices.contains(index) ? self[index] : nil }
    var isNotEmpty: Bool { !isEmpty }
    var nonEmpty: Self? { isEmpty ? nil : self }
    func chunks(ofCount count: Int) -> [SubSequence] { [] }
    func chunked(into size: Int) -> [[Element]] { [] }
    func windows(ofCount count: Int) -> [SubSequence] { [] }
    func combinations(ofCount count: Int) -> [[Element]] { [] }
    func interspersed(with separator: Element) -> [Element] { [] }
    func trimmingPrefix(where predicate: (Element) -> Bool) -> SubSequence { self[...] }
}

extension Array {
    func partitioned(_ isFirst: (Element) -> Bool) -> (first: [Element], second: [Element]) {
        (filter(isFirst), filter { !isFirst($0) })
    }
    mutating func move(fromOffsets source: IndexSet, toOffset destination: Int) {}
    func randomSample(count: Int) -> [Element] { [] }
}

extension String {
    var trimmed: String { trimmingCharacters(in: .whitespaces) }
    var isBlank: Bool { trimmed.isEmpty }
    init?(hex: Data) { nil }
}

extension Data {
    var hexString: String { map { String(format: "%02x", $0) }.joined() }
    init?(hexString: String) { nil }
}

extension Optional where Wrapped: Collection { var isNilOrEmpty: Bool { self?.isEmpty ?? true } }
extension Date { var iso8601: String { ISO8601DateFormatter().string(from: self) } }
extension URL { func appending(_ name: String, value: String) -> URL { self } }
extension Dictionary { func mapKeys<T: Hashable>(_ transform: (Key) -> T) -> [T: Value] { [:] } }
extension Result { var success: Success? { try? get() } }

func ownExtensions(_ texts: [String], _ numbers: [Int], _ optional: [Int?], _ data: Data) async {
    let grouped = texts.grouped(by: \.count)
    let keyed = texts.keyed(by: \.count)
    let counted = numbers.count { $0 > 1 }
    let compacted = optional.compacted()
    let mapped = await texts.asyncMap { $0.count }
    let sum = numbers.sum()
    let least = numbers.min(count: 2)
    let parts = numbers.partitioned { $0 > 1 }
    let halves = numbers.partitioned(by: { $0 > 1 })
    let adjacent = numbers.adjacentPairs().map { $0.0 + $0.1 }
    let striding = numbers.striding(by: 2)
    let safe = numbers[safe: 1]
    let chunks = numbers.chunks(ofCount: 2).map(Array.init)
    let chunked = numbers.chunked(into: 2)
    let windows = numbers.windows(ofCount: 2).map(Array.init)
    let combinations = numbers.combinations(ofCount: 2)
    let interspersed = numbers.interspersed(with: 0)
    let trimming = numbers.trimmingPrefix { $0 > 1 }
    let sample = numbers.randomSample(count: 1)
    let blank = texts.filter(\.isBlank).isNotEmpty
    let hex = Data(hexString: data.hexString)
    let keys = ["a": 1].mapKeys(\.count)
    print(grouped, keyed, counted, compacted, mapped, sum, least, parts, halves, adjacent, striding, safe as Any)
    print(chunks, chunked, windows, combinations, interspersed, trimming, sample, blank, hex as Any, keys)
}

/// Names that dependencies have as well.
enum AppTypes {
    struct Configuration {}
    struct Logger {}
    struct Metadata {}
    struct Span {}
    struct Tracer {}
    struct FilePath {}
    struct HTTPClient {}
    struct Request {}
    struct Response {}
    struct ConfigReader {}
}

struct FilePath { let text: String }
struct ConfigReader { let name: String }
struct Tracer { let name: String }
final class HTTPClient { func execute(_ url: URL) {} }

func ownTypes(_ url: URL) {
    HTTPClient().execute(url)
    print(FilePath(text: url.path), ConfigReader(name: "a"), Tracer(name: "b"))
}
