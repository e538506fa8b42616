import Testing
import TestSupport

@testable import PowerSyncAttachments

@Suite struct OrderedValuesTests {
    @Test func aNewValueKeepsThePlaceOfItsID() {
        var values = OrderedValues<Int>()
        values.update(1, for: "a")
        values.update(2, for: "b")
        let before = values.update(3, for: "a")
        #expect(before == 1)
        #expect(values.values == [3, 2])
        #expect(values["a"] == 3)
    }

    @Test func anIDThatComesBackIsTheLast() {
        var values = OrderedValues<Int>()
        for (id, value) in [("a", 1), ("b", 2)] { values.update(value, for: id) }
        let removed = [values.remove("a"), values.remove("a")]
        #expect(removed == [1, nil])
        values.update(4, for: "a")
        #expect(values.values == [2, 4])
        let popped = [values.popFirst(), values.popFirst(), values.popFirst()]
        #expect(popped == [2, 4, nil])
        #expect(values.isEmpty)
    }

    /// Against an array of pairs, with few ids so that they come back often.
    @Test func randomOperations() {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("OrderedValuesTests seed: \(seed)")
        var random = SeededGenerator(seed: seed)
        var values = OrderedValues<Int>()
        var model: [(id: Int, value: Int)] = []
        for step in 0..<20_000 {
            let id = Int.random(in: 0..<40, using: &random)
            let key = "\(id)"
            let index = model.firstIndex { $0.id == id }
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<45:
                let before = values.update(step, for: key)
                #expect(before == index.map { model[$0].value })
                if let index { model[index].value = step } else { model.append((id, step)) }
            case 45..<70:
                let (removed, expected) = (values.remove(key), index.map { model.remove(at: $0).value })
                #expect(removed == expected)
            case 70..<99:
                let (first, expected) = (values.popFirst(), model.isEmpty ? nil : model.removeFirst().value)
                #expect(first == expected)
            default:
                values.removeAll()
                model = []
            }
            #expect(values.count == model.count)
            #expect(values[key] == model.first { $0.id == id }?.value)
            if step % 50 == 0 { #expect(values.values == model.map(\.value)) }
        }
    }
}
