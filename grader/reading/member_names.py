"""Names of a zip archive's members in the encodings that archivers write.

A name says that it is UTF-8, or an extra field has it in UTF-8 (Info-ZIP's 0x7075, which counts
only while the name is the one that it was made for). Else it is in whatever the machine that packed
it used: UTF-8 on a Mac, and on Windows the code page of the country. That is one for the whole
archive, so it is found from all names together.
"""

import codecs
import struct
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence

ENCODINGS = (
    *("utf-8", "gbk", "gb18030", "cp949", "cp932", "big5", "big5hkscs", "euc_jp", "euc_kr"),
    *("shift_jis", "cp437", "cp850", "cp852", "cp866", "cp1250", "cp1251", "cp1252", "cp1253"),
    *("cp1254", "cp1255", "cp1256", "cp1257", "cp1258", "cp874", "iso8859-1"),
)
"""Those that may be asked for. Their codecs are loaded here: a reader has no files."""

for _each in ENCODINGS:
    codecs.lookup(_each)

_NAMES, _LENGTH = 1000, 60
"""So much of names is looked at: a student may have packed 200,000 of them."""

_UNICODE_NAME = 0x800
_UNICODE_PATH = 0x7075
_FALLBACK = "cp437"
"""What the format itself says of names that say nothing."""


def read_names(entries: Sequence[zipfile.ZipInfo], demanded: str = "") -> tuple[list[str], str]:
    """Return the names of members, and the encoding of those that do not say theirs.

    It is the `demanded` one, or the one that suits most of them; empty where all say theirs or are
    in ASCII.
    """
    told = {at: name for at, each in enumerate(entries) if (name := _told(each)) is not None}
    raw = {at: _raw(each) for at, each in enumerate(entries) if at not in told}
    if all(each.isascii() for each in raw.values()) and not demanded:
        encoding, shown = _FALLBACK, ""
    else:
        encoding = shown = demanded or guess(raw.values())
    told |= {at: name.decode(encoding, "replace") for at, name in raw.items()}
    return [told[at] for at in range(len(entries))], shown


def _told(entry: zipfile.ZipInfo) -> str | None:
    if entry.flag_bits & _UNICODE_NAME:
        return entry.filename
    extra = entry.extra
    while len(extra) >= 4:
        kind, size = struct.unpack_from("<HH", extra)
        field, extra = extra[4 : 4 + size], extra[4 + size :]
        if kind == _UNICODE_PATH and len(field) > 5 and field[0] == 1:
            (checksum,) = struct.unpack_from("<I", field, 1)
            if checksum == zlib.crc32(_raw(entry)):
                return field[5:].decode("utf-8", "replace")
    return None


def _raw(entry: zipfile.ZipInfo) -> bytes:
    """Return a name as it is in the archive: each byte is one character of code page 437.

    From Python 3.12 on `filename` may be what the extra field says.
    """
    return entry.orig_filename.partition("\0")[0].encode(_FALLBACK, "replace")


def guess(names: Iterable[bytes]) -> str:
    """Return the encoding in which names read like names of people and of their files."""
    raw = [each for each in names if not each.isascii()]
    if _decoded(raw, "utf-8") is not None:
        return "utf-8"
    best, most = _FALLBACK, 0.0
    for encoding in _LANGUAGES:
        texts = _decoded(raw, encoding) or ()
        letters = [c for text in texts[:_NAMES] for c in text[:_LENGTH] if not c.isascii()]
        score = sum(_likeness(each, encoding) for each in letters) / max(len(letters), 1)
        if score > most:
            best, most = encoding, score
    return best


def _decoded(names: Iterable[bytes], encoding: str) -> list[str] | None:
    try:
        return [each.decode(encoding) for each in names]
    except UnicodeDecodeError:
        return None


# How much a character is like those of names and files in a language. Chinese and Korean share
# bytes: what is one of 2,350 syllables in the one is one of 3,755 frequent characters in the other.

_COMMON = 1.0
_USUAL = 0.25
_RARE = -0.5

_CHINESE = frozenset(
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林罗郑梁谢宋唐许韩冯邓曹彭曾肖田董袁潘于蒋蔡余杜叶程苏魏吕丁任"
    "沈姚卢姜崔钟谭陆汪范金石廖贾夏韦付方白邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严覃武戴莫孔向汤"
    "伟芳娜敏静秀丽强磊军洋勇艳杰娟涛明超霞平刚桂英华文玉建国志新海天一小晓梅雪子浩宇轩雨欣怡佳俊博思嘉诗晨"
    "红春兰凤洁琳莉燕鹏斌波辉健峰飞鑫阳东南西北中山大学生成才德永清光亮美慧婷颖倩媛瑞琪萌蕾悦欢乐安康泽睿"
    "作业实验报告课程设计练习提交最终版本姓名号第次组测试代码期末答案一二三四五六七八九十章节上下的附件新建文件夹"
)
_TRADITIONAL = frozenset(
    "陳林黃張李王吳劉蔡楊許鄭謝郭洪曾邱廖賴周葉蘇莊江呂何羅高蕭潘簡朱鍾彭游詹胡施沈余趙盧梁顏柯翁魏孫戴"
    "家豪志明俊傑建宏淑芬美玲雅婷怡君宗翰冠宇承恩佳穎欣詩涵子軒品睿柏翰宜庭文華國偉惠雯慧中心小大學生"
    "作業實驗報告課程設計練習提交最終版本姓名號第次組測試程式碼期末答案一二三四五六七八九十章節上下的附件新增"
)
_KOREAN = frozenset(
    "김이박최정강조윤장임한오서신권황안송류전홍고문양손배백허유남심노하곽성차주우구민진지나엄채원천방공현함변"
    "염여추도소석선설마길연위표명기반왕금옥육인맹제모은수영준예아윤도경희혜미라재훈동상철숙자순형규환찬빈솔별"
    "과숙실습출보고종최정본학번름중간말차시험답안코드파일폴더새사이트자료의를을에가와팀조분반강의대교생님첨부"
)
_JAPANESE = frozenset(
    "佐藤鈴木高橋田中伊渡辺山本村小林加吉松井上清水崎池阿部森石川前後岡長谷近坂遠青福西原三中野金竹内和菊地"
    "太郎次花子美恵直樹健一翔大輝陽菜結愛香奈由真理優裕介浩隆雄誠拓也課題宿題提出演習実験最終版学籍番号氏名第回"
) | frozenset(map(chr, range(ord("ぁ"), ord("ヿ") + 1)))


def _likeness(letter: str, encoding: str) -> float:
    """Say how much a character is like those of names and files in the encoding's language."""
    common, first, last, least = _LANGUAGES[encoding]
    if letter in common:
        return _COMMON
    raw = letter.encode(encoding, "replace")
    code = int.from_bytes(raw, "big") if len(raw) == 2 else 0
    return _USUAL if first <= code <= last and code & 0xFF >= least else _RARE


_LANGUAGES: Mapping[str, tuple[frozenset[str], int, int, int]] = {
    "gbk": (_CHINESE, 0xB0A1, 0xD7F9, 0xA1),
    "cp949": (_KOREAN, 0xB0A1, 0xC8FE, 0xA1),
    "cp932": (_JAPANESE, 0x889F, 0x9872, 0),
    "big5": (_TRADITIONAL, 0xA440, 0xC67E, 0),
}
"""Common characters of a language, the first and the last code of those that are usual, and their
least second byte: of GBK and CP949 the extensions have smaller ones."""
