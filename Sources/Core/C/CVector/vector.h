// Looks at many bytes at once, and tells which are special as a bit mask: Swift 6.3 compiles that to scalar code.
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

// A GNU extension that needs a macro before the first include.
void *memmem(const void *bytes, size_t count, const void *wanted, size_t wanted_count);

// Bit i of each mask speaks of byte i.
typedef struct {
    uint64_t quotes;       // "
    uint64_t backslashes;  // the other byte that ends a stretch of plain text in JSON
    int has_controls;      // one is below 0x20
} special_bytes_t;

#if defined(__aarch64__)
static inline uint64_t mask_of(uint8x16_t hits) {
    const uint8x16_t weights = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    uint8x16_t bits = vandq_u8(hits, weights);
    return vaddv_u8(vget_low_u8(bits)) | (uint64_t)vaddv_u8(vget_high_u8(bits)) << 8;
}
#endif

// Adds what is special among 16 bytes, the first of which is number `index`.
static inline void add_special_bytes(special_bytes_t *result, const uint8_t *bytes, uint64_t index) {
#if defined(__SSE2__)
    __m128i block = _mm_loadu_si128((const __m128i *)(bytes + index)), last = _mm_set1_epi8(0x1F);
    result->quotes |= (uint64_t)_mm_movemask_epi8(_mm_cmpeq_epi8(block, _mm_set1_epi8('"'))) << index;
    result->backslashes |= (uint64_t)_mm_movemask_epi8(_mm_cmpeq_epi8(block, _mm_set1_epi8('\\'))) << index;
    result->has_controls |= _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(block, last), last));
#elif defined(__aarch64__)
    uint8x16_t block = vld1q_u8(bytes + index);
    result->quotes |= mask_of(vceqq_u8(block, vdupq_n_u8('"'))) << index;
    result->backslashes |= mask_of(vceqq_u8(block, vdupq_n_u8('\\'))) << index;
    result->has_controls |= vmaxvq_u8(vcltq_u8(block, vdupq_n_u8(0x20)));
#else
    for (uint64_t end = index + 16; index < end; index++) {
        result->quotes |= (uint64_t)(bytes[index] == '"') << index;
        result->backslashes |= (uint64_t)(bytes[index] == '\\') << index;
        result->has_controls |= bytes[index] < 0x20;
    }
#endif
}

// Of `count` bytes, 64 at most; none behind them is read.
static inline special_bytes_t special_bytes(const void *start, uint64_t count) {
    special_bytes_t result = {0, 0, 0};
    if (count >= 16) {
        uint64_t index = 0;
        for (; index + 16 <= count; index += 16) add_special_bytes(&result, (const uint8_t *)start, index);
        if (index < count) add_special_bytes(&result, (const uint8_t *)start, count - 16);  // some of them again
    } else {
        uint8_t padded[16];
        memset(padded, ' ', 16);
        memcpy(padded, start, count);
        add_special_bytes(&result, padded, 0);
    }
    return result;
}

// How many bytes of a JSON string at the beginning are plain: neither quote, backslash nor control character. One must
// follow, and so must 16 bytes that can be read behind it.
static inline uint64_t plain_prefix(const void *start) {
    const uint8_t *bytes = (const uint8_t *)start;
    uint64_t index = 0;
#if defined(__SSE2__)
    const __m128i last = _mm_set1_epi8(0x1F);
    for (;; index += 16) {
        __m128i block = _mm_loadu_si128((const __m128i *)(bytes + index));
        __m128i quotes = _mm_cmpeq_epi8(block, _mm_set1_epi8('"'));
        __m128i backslashes = _mm_cmpeq_epi8(block, _mm_set1_epi8('\\'));
        __m128i controls = _mm_cmpeq_epi8(_mm_max_epu8(block, last), last);
        int hits = _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quotes, backslashes), controls));
        if (hits) return index + (uint64_t)__builtin_ctz((unsigned)hits);
    }
#else
    while (bytes[index] != '"' && bytes[index] != '\\' && bytes[index] >= 0x20) index++;
    return index;
#endif
}

// How many bytes at the beginning are ASCII.
static inline uint64_t ascii_prefix(const void *start, uint64_t count) {
    const uint8_t *bytes = (const uint8_t *)start;
    uint64_t index = 0;
#if defined(__SSE2__)
    for (; index + 64 <= count; index += 64) {
        const __m128i *block = (const __m128i *)(bytes + index);
        __m128i first = _mm_or_si128(_mm_loadu_si128(block), _mm_loadu_si128(block + 1));
        __m128i second = _mm_or_si128(_mm_loadu_si128(block + 2), _mm_loadu_si128(block + 3));
        if (_mm_movemask_epi8(_mm_or_si128(first, second))) break;
    }
    for (; index + 16 <= count; index += 16) {
        int high = _mm_movemask_epi8(_mm_loadu_si128((const __m128i *)(bytes + index)));
        if (high) return index + (uint64_t)__builtin_ctz((unsigned)high);
    }
#endif
    for (; index + 8 <= count; index += 8) {
        uint64_t word;
        memcpy(&word, bytes + index, 8);
        if (word & 0x8080808080808080) break;
    }
    while (index < count && bytes[index] < 0x80) index++;
    return index;
}

// Whether there is a backslash among `count` bytes.
static inline bool has_backslash(const void *start, uint64_t count) { return memchr(start, '\\', count) != 0; }

// Copies what stands before the first backslash, and returns how much that is. `to` has room for `count` bytes.
static inline uint64_t copy_to_backslash(void *to, const void *from, uint64_t count) {
    uint8_t *output = (uint8_t *)to;
    const uint8_t *bytes = (const uint8_t *)from;
    uint64_t index = 0;
#if defined(__SSE2__)
    for (; index + 16 <= count; index += 16) {
        __m128i block = _mm_loadu_si128((const __m128i *)(bytes + index));
        _mm_storeu_si128((__m128i *)(output + index), block);
        int hits = _mm_movemask_epi8(_mm_cmpeq_epi8(block, _mm_set1_epi8('\\')));
        if (hits) return index + (uint64_t)__builtin_ctz((unsigned)hits);
    }
#endif
    for (; index < count && bytes[index] != '\\'; index++) output[index] = bytes[index];
    return index;
}

// What a reader of JSON keeps from one block of 64 bytes to the next.
typedef struct {
    uint64_t in_string;  // all ones inside a string
    uint64_t escaped;    // 1 if the next byte follows a backslash that escapes it
} json_position_t;

// Where brackets of both kinds open and close in a block of 64 bytes, outside strings.
typedef struct {
    uint64_t opening;
    uint64_t closing;
} json_brackets_t;

// One mask for each byte asked for. `[` and `{`, like `]` and `}`, differ in one bit only.
static inline void json_masks(const uint8_t *bytes, uint64_t *quotes, uint64_t *backslashes, json_brackets_t *all) {
#if defined(__SSE2__)
    for (int index = 0; index < 64; index += 16) {
        __m128i block = _mm_loadu_si128((const __m128i *)(bytes + index));
        __m128i folded = _mm_or_si128(block, _mm_set1_epi8(0x20));
        *quotes |= (uint64_t)_mm_movemask_epi8(_mm_cmpeq_epi8(block, _mm_set1_epi8('"'))) << index;
        *backslashes |= (uint64_t)_mm_movemask_epi8(_mm_cmpeq_epi8(block, _mm_set1_epi8('\\'))) << index;
        all->opening |= (uint64_t)_mm_movemask_epi8(_mm_cmpeq_epi8(folded, _mm_set1_epi8('{'))) << index;
        all->closing |= (uint64_t)_mm_movemask_epi8(_mm_cmpeq_epi8(folded, _mm_set1_epi8('}'))) << index;
    }
#elif defined(__aarch64__)
    for (int index = 0; index < 64; index += 16) {
        uint8x16_t block = vld1q_u8(bytes + index), folded = vorrq_u8(block, vdupq_n_u8(0x20));
        *quotes |= mask_of(vceqq_u8(block, vdupq_n_u8('"'))) << index;
        *backslashes |= mask_of(vceqq_u8(block, vdupq_n_u8('\\'))) << index;
        all->opening |= mask_of(vceqq_u8(folded, vdupq_n_u8('{'))) << index;
        all->closing |= mask_of(vceqq_u8(folded, vdupq_n_u8('}'))) << index;
    }
#else
    for (uint64_t index = 0; index < 64; index++) {
        uint8_t folded = bytes[index] | 0x20;
        *quotes |= (uint64_t)(bytes[index] == '"') << index;
        *backslashes |= (uint64_t)(bytes[index] == '\\') << index;
        all->opening |= (uint64_t)(folded == '{') << index;
        all->closing |= (uint64_t)(folded == '}') << index;
    }
#endif
}

// The bytes that follow a backslash which is not escaped itself. Runs of backslashes are told apart by whether their
// length is odd: an addition carries along a run, and lands on its end.
static inline uint64_t json_escaped(uint64_t backslashes, uint64_t *carry) {
    const uint64_t even = 0x5555555555555555;
    backslashes &= ~*carry;
    uint64_t follows = backslashes << 1 | *carry;
    uint64_t odd_starts = backslashes & ~even & ~follows;
    uint64_t ends;
    *carry = __builtin_add_overflow(odd_starts, backslashes, &ends);
    return (even ^ ends << 1) & follows;
}

static inline json_brackets_t json_brackets(const void *block, json_position_t *position) {
    uint64_t quotes = 0, backslashes = 0;
    json_brackets_t result = {0, 0};
    json_masks((const uint8_t *)block, &quotes, &backslashes, &result);
    quotes &= ~json_escaped(backslashes, &position->escaped);
    // Bit i tells whether the number of quotes up to it is odd.
    uint64_t inside = quotes;
    for (int shift = 1; shift < 64; shift <<= 1) inside ^= inside << shift;
    inside ^= position->in_string;
    position->in_string = (uint64_t)((int64_t)inside >> 63);
    result.opening &= ~inside;
    result.closing &= ~inside;
    return result;
}
